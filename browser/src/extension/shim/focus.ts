// Whether this frame's sensors may read: the focused frame must be of the same origin.
// https://www.w3.org/TR/generic-sensor/#focused-area

export function hasFocus(): boolean {
  let document: Document | null = outermost().document;
  if (!document.hasFocus()) return false;
  while (document && isFrame(document.activeElement)) document = document.activeElement.contentDocument;
  return document !== null; // null for a frame of another origin
}

/** Elements of other frames belong to other realms, where instanceof fails. */
function isFrame(element: Element | null): element is HTMLIFrameElement {
  return element?.localName === "iframe";
}

type Frame = Window & typeof globalThis;

/** The outermost frame around this one that shares its origin. */
function outermost(): Frame {
  let frame = window;
  try {
    while (frame !== frame.parent && frame.parent.document) frame = frame.parent as Frame;
  } catch {
    // The next one has another origin.
  }
  return frame;
}
