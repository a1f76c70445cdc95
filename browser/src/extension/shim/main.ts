// In every page, in the page's own world, before its first script.
import { underOurHeader } from "../header";
import { install } from "./install";
import { Link } from "./link";

if (window.isSecureContext) install(new Link(), underOurHeader);
