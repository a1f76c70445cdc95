// Whether sensors of this frame may read: the frame that has the focus is of the same origin.
// https://www.w3.org/TR/generic-sensor/#focused-area

export function hasFocus(): boolean {
  let at: Document | null = uppermost().document;
  if (!at.hasFocus()) return false;
  while (at && isFrame(at.activeElement)) at = at.activeElement.contentDocument;
  return at !== null; // the document of a frame of another origin is not shown to us
}

/** Elements of other frames are of other realms, so that instanceof would not know them. */
function isFrame(element: Element | null): element is HTMLIFrameElement {
  return element?.localName === "iframe";
}

type Frame = Window & typeof globalThis;

/** The outermost frame around this one that we may look into. */
function uppermost(): Frame {
  let frame = window as Frame;
  try {
    while (frame !== frame.parent && frame.parent.document) frame = frame.parent as Frame;
  } catch {
    // The next one is of another origin.
  }
  return frame;
}
