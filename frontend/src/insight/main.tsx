/** Starts the page. */

import "../../../src/ascend_sn/report/templates/colours.css";
import "./style/page.css";
import "./style/controls.css";
import "./style/pages.css";
import { render } from "preact";
import { App } from "./shell/app";
import { expose } from "./shell/debug";
import { startKeys } from "./shell/keys";
import { route, startRouter } from "./shell/router";
import { followSession, session } from "./shell/session";
import { startSettings } from "./shell/settings";

startSettings();
startRouter();
startKeys();
expose("route", () => route.peek());
expose("session", () => session.peek());
const place = document.getElementById("app");
if (place) render(<App />, place);
void followSession();
