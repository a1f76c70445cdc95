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
const labs = Object.keys(LAB).length;
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
