// Ways to open a window that the page fills itself; a script in it calls the page, which reads there.
window.go = (win, name) => {
  spy(win, name, report);
  spyOnPopup(win, name);
};
let opening = 0;
const calling = (name) => `javascript:void opener.go(window,${JSON.stringify(name)})`;
function put(tag, attributes, parent = document.documentElement) {
  const made = tag.includes(":")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}
const fresh = () => ({ target: `w${opening++}`, rel: "opener" });
trick("link that runs a script in another window", (name) => put("a", { ...fresh(), href: calling(name) }).click());
trick("link with spaces in its script's name", (name) =>
  put("a", { ...fresh(), href: ` \tjava\nscript:void opener.go(window,${JSON.stringify(name)})` }).click(),
);
trick("link to a new window without a name", (name) =>
  put("a", { target: "_blank", rel: "opener", href: calling(name) }).click(),
);
trick("link whose target is the base's", (name) => {
  const base = put("base", { target: `w${opening++}` }, document.head);
  put("a", { rel: "opener", href: calling(name) }).click();
  base.remove();
});
trick("area of a map that runs a script", (name) =>
  put("area", { ...fresh(), href: calling(name) }, put("map", {})).click(),
);
trick("link in a picture", (name) =>
  put("svg:a", { ...fresh(), href: calling(name) }, put("svg:svg", {})).dispatchEvent(
    new MouseEvent("click", { bubbles: true, cancelable: true }),
  ),
);
trick("link in a closed tree", (name) =>
  put("a", { ...fresh(), href: calling(name) }, put("div", {}).attachShadow({ mode: "closed" })).click(),
);
trick("link whose address changes while it is clicked", (name) => {
  const link = put("a", { ...fresh(), href: "/204" });
  link.onclick = () => link.setAttribute("href", calling(name));
  link.click();
});
trick("form whose action is a script", (name) => put("form", { ...fresh(), action: calling(name) }).submit());
trick("form that is asked to be sent", (name) => put("form", { ...fresh(), action: calling(name) }).requestSubmit());
trick("button with a script of its own", (name) =>
  put(
    "button",
    { formaction: calling(name), formtarget: `w${opening++}` },
    put("form", { action: "/204", rel: "opener" }),
  ).click(),
);
trick("form sent by another frame's function", (name) =>
  frame().contentWindow.HTMLFormElement.prototype.submit.call(put("form", { ...fresh(), action: calling(name) })),
);
trick("form sent by a function of a frame without a script", (name) =>
  frame({ src: "/204" }).contentWindow.HTMLFormElement.prototype.submit.call(
    put("form", { ...fresh(), action: calling(name) }),
  ),
);
trick("pop-up opened by a frame without a script", (name) =>
  spyOnPopup(frame({ src: "/204" }).contentWindow.open("about:blank"), name),
);
trick("pop-up opened again by the page's function", (name) => {
  const made = open("about:blank");
  Document.prototype.open.call(made.document);
  spyOnPopup(made, name);
});
trick("pop-up opened again by a frame's function", (name) => {
  const made = open("about:blank");
  frame().contentWindow.Document.prototype.open.call(made.document);
  spyOnPopup(made, name);
});
trick("pop-up opened again by a function of a frame without a script", (name) => {
  const [made, clean] = [open("about:blank"), frame({ src: "/204" }).contentWindow];
  clean.Document.prototype.open.call(made.document);
  clean.EventTarget.prototype.addEventListener.call(made, "devicemotion", (event) =>
    report(`${name}/motion`, [event.accelerationIncludingGravity?.x].filter(Number.isFinite)),
  );
});
trick("pop-up blob: with a frame of a script, observed", (name) =>
  open(
    URL.createObjectURL(
      new Blob(
        [
          `<body><script>${spy};new MutationObserver((_,o)=>{o.disconnect();
  spy(window[0],${JSON.stringify(name)},(way,numbers)=>opener.postMessage({way,numbers},"*"))})
  .observe(document.body,{childList:true});document.body.innerHTML='<iframe src="javascript:void 0">'</${"script"}>`,
        ],
        { type: "text/html" },
      ),
    ),
  ),
);
trick("pop-up blob: with a frame of a script, at once", (name) =>
  open(
    URL.createObjectURL(
      new Blob(
        [
          `<body><script>${spy};document.body.innerHTML='<iframe src="javascript:void 0">';
  spy(window[0],${JSON.stringify(name)},(way,numbers)=>opener.postMessage({way,numbers},"*"))</${"script"}>`,
        ],
        { type: "text/html" },
      ),
    ),
  ),
);
trick("pop-up blob: with an empty frame", (name) =>
  open(
    URL.createObjectURL(
      new Blob(
        [
          `<body><script>${spy};document.body.innerHTML='<iframe src="${location.origin}/204">';
  spy(window[0],${JSON.stringify(name)},(way,numbers)=>opener.postMessage({way,numbers},"*"))</${"script"}>`,
        ],
        { type: "text/html" },
      ),
    ),
  ),
);
trick("pop-up opened by the document", (name) => spyOnPopup(document.open("/204", `w${opening++}`, ""), name));
trick("pop-up whose address has a fragment", (name) => spyOnPopup(open("about:blank#more"), name));
trick("pop-up whose address has a query", (name) => spyOnPopup(open("about:blank?more"), name));
trick("pop-up written before it is opened", (name) => open("/204").document.write(spying(name)));
trick("pop-up with handlers in its text", (name) => {
  const made = open("/204");
  made.tell = (event) => report(`${name}/motion`, [event.acceleration?.x].filter(Number.isFinite));
  made.document.write(`<body ondevicemotion="tell(event)"><script>
    addEventListener("devicemotion", tell, true); ondeviceorientation = tell</${"script"}>`);
});
trick("pop-up with an element called back while it is opened", (name) => {
  const made = open("/204");
  made.customElements.define(
    "x-back",
    class extends made.HTMLElement {
      disconnectedCallback() {
        spy(made, name, report);
      }
    },
  );
  made.document.body.append(made.document.createElement("x-back"));
  made.document.open();
});
trick("pop-up that goes to a blank page", (name) => {
  const made = open("/204");
  setTimeout(() => {
    made.location = "about:blank";
    const before = made.document;
    const timer = setInterval(() => {
      if (made.document === before) return;
      clearInterval(timer);
      spyOnPopup(made, name);
    });
  }, 500);
});
trick("pop-up that is loaded again", (name) => {
  const made = open("/204");
  setTimeout(() => {
    made.location.reload();
    spyOnPopup(made, name);
    setTimeout(() => spyOnPopup(made, name), 500);
  }, 500);
});
trick("pop-up without content, with an empty frame", (name) => {
  const { document: inner } = open("/204");
  const made = inner.createElement("iframe");
  made.src = `${location.origin}/204`;
  inner.body.append(made);
  spyOnPopup(made.contentWindow, name);
});
trick("pop-up without content, with a frame of a script", (name) => {
  const { document: inner } = open("/204");
  inner.body.innerHTML = '<iframe src="javascript:void 0"></iframe>';
  spyOnPopup(inner.defaultView[0], name);
});
trick("pop-up of a script without an opener", (name) =>
  open(`javascript:document.write(${JSON.stringify(spying(name))})`, "_blank", "noopener"),
);
trick("pop-up blob: without an opener", (name) => open(URL.createObjectURL(page(name)), "_blank", "noopener"));
trick("pop-up opened as another window", (name) => spyOnPopup(open.call(frame().contentWindow, "/204"), name));
trick("pop-up found by its name", (name) => {
  put("a", { target: "found", rel: "opener", href: "/204" }).click();
  setTimeout(() => spyOnPopup(open("", "found"), name), 500);
});
trick("pop-up that was fetched before", (name) => {
  const made = open(`/prefetching`);
  setTimeout(() => (made.location = `/spying?${encodeURIComponent(name)}`), 2000);
});
trick("link whose click cannot be cancelled", (name) =>
  put("a", { ...fresh(), href: calling(name) }).dispatchEvent(new MouseEvent("click")),
);
trick("form in an open tree", (name) =>
  put("form", { ...fresh(), action: calling(name) }, put("div", {}).attachShadow({ mode: "open" })).requestSubmit(),
);
trick("button in an open tree", (name) => {
  const tree = put("div", {}).attachShadow({ mode: "open" });
  put("form", { ...fresh(), action: calling(name), id: "sent" }, tree);
  put("button", { form: "sent" }, tree).click();
});
trick("picture of a form with a script of its own", (name) =>
  put(
    "input",
    { type: "image", formaction: calling(name), formtarget: `w${opening++}` },
    put("form", { action: "/204", rel: "opener" }),
  ).click(),
);
/** With a click of the person each. */
const CLICKED = {
  "picture in picture": async (name) => {
    documentPictureInPicture.onenter = ({ window: made }) => spyOnPopup(made, name);
    const made = await documentPictureInPicture.requestWindow();
    spyOnPopup(made, name);
  },
  "picture in picture, with an empty frame": async (name) => {
    const made = documentPictureInPicture.window ?? (await documentPictureInPicture.requestWindow());
    spyOnPopup(put("iframe", { src: `${location.origin}/204` }, made.document.body).contentWindow, name);
  },
  "pop-up at a click": (name) => spyOnPopup(open("/204"), name),
};
window.click = (name) => trick(name, CLICKED[name]);
window.labs = Object.keys(LAB).length;
window.tried = 0;
addEventListener("message", (event) => event.data === "tried" && window.tried++);
for (const name of Object.keys(LAB))
  trick(name, () =>
    frame({
      src: `${location.pathname.startsWith("/worked") ? "/worked" : ""}/lab?${encodeURIComponent(name)}`,
      allow: ALLOW,
      style: "width:9px;height:9px",
    }),
  );
const clicked = put("a", {
  target: "clicked",
  rel: "opener",
  href: calling("link that a person clicks"),
  style: "position:fixed;left:0;top:0;width:60px;height:60px;background:red;z-index:9",
});
tricks.push("link that a person clicks");
