// In every page, in the page's own world, before its first script.
import { install } from "./install";
import { Link } from "./link";
import { shutFrames, shutOpened } from "./opened";

shutOpened();
shutFrames();
if (window.isSecureContext) install(new Link());
