// An open queue: what waits in it, what is recorded in it from the page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, Project, Server, rendersTo, settled, shot, text } from "./harness.mjs";

let project;
let server;
let browser;
let page;

before(async () => {
  project = Project.sample("player_stats");
  server = await Server.start(project, "templates/player_stats", "--store", "queue.db");
  browser = await Browser.open();
  page = await browser.page(`${server.url}#v=whatif`);
});

after(async () => {
  await browser?.close();
  await server?.stop();
  project?.remove();
});

async function record(asset, key) {
  await page.locator("[name=asset]").first().fill(asset);
  await page.locator("[name=key]").first().fill(key);
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Record in the open queue" }).click();
}

test("records events, shows what waits and the run they make", async () => {
  page.removeAllListeners("dialog");
  await record("team_a_player_stats", "2026-08-02T03:00:00");
  await page.waitForFunction(() => document.querySelector(".view-whatif").textContent.includes("Recorded; no run was made"));
  await page.goto(`${server.url}#v=waiting&q=true`);
  await settled(page);
  await page.waitForFunction(() => document.querySelector(".view-waiting")?.textContent.includes("2026-08-02T03"));
  assert.match(await text(page, ".view-waiting"), /combine\s+"2026-08-02T03"/);
  await shot(page, "queue-1280-light");
  await page.goto(`${server.url}#v=whatif`);
  await settled(page);
  await record("team_b_player_stats", "2026080203");
  await page.waitForFunction(() => document.querySelector(".view-whatif").textContent.includes("1 run was made"));
  await page.locator(".made", { hasText: "combine" }).first().getByRole("button", { name: "open" }).click();
  await rendersTo(page, "PARTITION (dt = '2026-08-02', hour = '03')");
  assert.equal(await text(page, "#scenario-name"), "open queue");
  assert.deepEqual(browser.complaints, []);
});
