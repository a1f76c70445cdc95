// In every page, in the page's own world, before its first script.
import { allowedByPage } from "../header";
import { install } from "./install";
import { Link } from "./link";
import { shutOpened } from "./opened";

shutOpened();
if (window.isSecureContext) install(new Link(), allowedByPage);
