// Runs in every page, in the page's own world, before its first script.
import { install } from "./install";
import { Link } from "./link";
import { disableInFrames, disableInOpened } from "./opened";

disableInOpened();
disableInFrames();
if (window.isSecureContext) install(new Link());
