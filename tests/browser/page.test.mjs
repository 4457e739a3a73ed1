// The page on a sample: what people do with it, from opening it to comparing two runs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, NARROW, Project, Server, lowContrast, nameless, overflow, rendered, rendersTo, settled, shot, text } from "./harness.mjs";

const COMBINE = "#p=player_stats&s=one_hour&d=combine&r=2026-03-10T09&t=combine_stats&f=sql";

let project;
let server;
let browser;
let page;

before(async () => {
  project = Project.sample("player_stats");
  server = await Server.start(project, "templates/player_stats");
  browser = await Browser.open();
  page = await browser.page(server.url);
});

after(async () => {
  await browser?.close();
  const { code, ms } = (await server?.stop()) ?? { code: null };
  project?.remove();
  assert.equal(code, 0);
  assert.ok(ms < 1000, `ending took ${ms} ms`);
});

async function open(hash, on = page) {
  await on.goto(server.url + hash);
  await settled(on);
}

async function nothingWrong() {
  assert.deepEqual(browser.complaints, []);
}

test("opens with a run chosen and its text rendered", async () => {
  assert.equal(await text(page, "#pipeline-name"), "player_stats");
  assert.match(await text(page, "#runs-count"), /\d+ runs?/);
  assert.notEqual(await rendered(page), "");
  assert.equal(await page.locator("#live").getAttribute("data-state"), "live");
  await nothingWrong();
});

test("chooses scenario, run and field; the address keeps them", async () => {
  await page.keyboard.press("s");
  await page.keyboard.type("one_hour");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("scenario-name").textContent === "one_hour");
  await settled(page);
  await page.fill("#runs-filter", "combine 2026-03-10T09");
  await page.locator("#run-list .v-row").first().click();
  await rendersTo(page, "INSERT OVERWRITE TABLE mart.combined PARTITION (dt = '2026-03-10', hour = '09')");
  assert.match(await text(page, "#head"), /combine\s+2026-03-10T09/);
  assert.match(await text(page, "#head"), /partition_date 2026-03-10 09:00 UTC/);
  assert.match(await text(page, "#head"), /team_b_player_stats "2026031009"/);
  await page.getByRole("tab", { name: "export.bash_command" }).click();
  await rendersTo(page, "20260310");
  await page.reload();
  await settled(page);
  await rendersTo(page, "20260310");
  await page.goBack();
  await rendersTo(page, "INSERT OVERWRITE TABLE");
  await page.fill("#runs-filter", "");
  await nothingWrong();
});

test("a line of the text points to the template, and back", async () => {
  await open(COMBINE);
  const line = page.locator("#text .line", { hasText: "INSERT OVERWRITE" });
  await line.click();
  assert.match(await page.locator("#template .line.linked").first().innerText(), /INSERT OVERWRITE TABLE \{\{ params\.schema \}\}/);
  await page.locator("#template .line", { hasText: "GROUP BY" }).click();
  assert.match(await page.locator("#text .line.linked").first().innerText(), /GROUP BY player_id/);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".line.linked").count(), 0);
  await nothingWrong();
});

test("shows colours of SQL, shell and templates", async () => {
  await open(COMBINE);
  assert.ok((await page.locator("#text .hl-keyword").count()) > 3);
  assert.ok((await page.locator("#template .hl-expression").count()) > 1);
  assert.ok((await page.locator("#template .hl-tag").count()) > 0);
});

test("an edit on disk shows by itself, the chosen run stays", async () => {
  await open(COMBINE);
  const address = page.url();
  const times = [];
  for (let round = 1; round <= 5; round += 1) {
    const begun = Date.now();
    project.edit("templates/player_stats/sql/combine.sql", "GROUP BY player_id", `GROUP BY player_id /* round ${round} */`);
    await rendersTo(page, `/* round ${round} */`);
    times.push(Date.now() - begun);
    project.edit("templates/player_stats/sql/combine.sql", ` /* round ${round} */`, "");
    await page.waitForFunction((gone) => !document.getElementById("text").textContent.includes(gone), `/* round ${round} */`);
  }
  assert.equal(page.url(), address);
  console.log(`# from the save to the new text on the page: ${times.join(", ")} ms`);
  await nothingWrong();
});

test("a broken template shows the error at its line, and the text again once it is mended", async () => {
  await open(COMBINE);
  project.edit("templates/player_stats/sql/combine.sql", "GROUP BY player_id", "GROUP BY {{ player_id }}");
  await page.waitForSelector(".made-text .problem");
  assert.match(await text(page, ".made-text .problem"), /UndefinedError/);
  assert.match(await text(page, ".made-text .problem"), /'player_id' is undefined/);
  const wrong = page.locator("#template .line.wrong");
  assert.match(await wrong.innerText(), /GROUP BY \{\{ player_id \}\}/);
  await shot(page, "error-1280-light");
  project.edit("templates/player_stats/sql/combine.sql", "{{ player_id }}", "{% if player_id");
  await page.waitForFunction(() => document.querySelector(".made-text .problem")?.textContent.includes("TemplateSyntaxError"));
  project.edit("templates/player_stats/sql/combine.sql", "{% if player_id", "player_id");
  await rendersTo(page, "GROUP BY player_id");
  assert.equal(await page.locator("#template .line.wrong").count(), 0);
  await nothingWrong();
});

test("a broken pipeline file shows its excerpt; the run is there again afterwards", async () => {
  await open(COMBINE);
  const before = project.read("templates/player_stats/pipeline.yaml");
  project.edit("templates/player_stats/pipeline.yaml", "StartOfHourMapper", "StartOfHuorMapper");
  await page.waitForSelector("#banner .problem");
  assert.match(await text(page, "#banner"), /StartOfHuorMapper/);
  assert.match(await text(page, "#banner"), /pipeline\.yaml/);
  await shot(page, "broken-pipeline-1280-light");
  project.write("templates/player_stats/pipeline.yaml", before);
  await rendersTo(page, "INSERT OVERWRITE TABLE mart.combined");
  assert.equal(await page.locator("#banner").isHidden(), true);
  assert.match(await text(page, "#head"), /2026-03-10T09/);
  await nothingWrong();
});

test("the context of the run can be searched", async () => {
  await open(`${COMBINE}&v=context`);
  const rows = page.locator(".context tbody tr");
  assert.ok((await rows.count()) > 20);
  await page.keyboard.press("/");
  await page.keyboard.type("partition");
  assert.match(await text(page, ".context tbody"), /partition_key\s+str\s+2026-03-10T09/);
  assert.ok((await rows.count()) < 20);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Undefined" }).click();
  assert.match(await text(page, ".context tbody"), /\bds\b/);
  await page.getByRole("button", { name: "Undefined" }).click();
  await nothingWrong();
});

test("explains key and date", async () => {
  await open(`${COMBINE}&v=why`);
  const why = await text(page, ".view-why");
  assert.match(why, /StartOfHourMapper\(input_format='%Y%m%d%H'\)/);
  assert.match(why, /"2026031009"\s*→\s*"2026-03-10T09"/);
  assert.match(why, /Decoded from the key by StartOfHourMapper of team_b_player_stats/);
  await nothingWrong();
});

test("draws the chain with the way of the run", async () => {
  await open(`${COMBINE}&v=chain`);
  assert.ok((await page.locator(".graph .node").count()) >= 12);
  assert.equal(await page.locator(".graph .node.here").count(), 1);
  assert.ok((await page.locator(".graph .node.on").count()) >= 5);
  await page.locator(".graph .node.asset", { hasText: "combined_player_stats" }).click();
  await settled(page);
  await page.waitForSelector(".view-assets tbody tr");
  assert.match(await text(page, ".view-assets tbody"), /combined_player_stats[\s\S]*combine\.combine_stats[\s\S]*load_odds/);
  await nothingWrong();
});

test("shows what waits and which keys are missing", async () => {
  await open("#p=player_stats&s=one_hour&v=waiting");
  const waiting = await text(page, ".view-waiting");
  assert.match(waiting, /daily_report\s+"2026-03-10"/);
  assert.match(waiting, /1 of 24 keys/);
  assert.equal(await page.locator(".ticks i").count(), 24);
  assert.equal(await page.locator(".ticks i.have").count(), 1);
  await nothingWrong();
});

test("compares with the accepted snapshot", async () => {
  await open(`${COMBINE}&v=snapshot`);
  assert.match(await text(page, ".view-snapshot"), /Everything is as accepted/);
  project.edit("templates/player_stats/sql/combine.sql", "GROUP BY player_id", "GROUP BY player_id, region");
  await page.waitForFunction(() => document.querySelector(".view-snapshot")?.textContent.includes("differs from the accepted"));
  assert.match(await text(page, ".view-snapshot .diff"), /GROUP BY player_id, region/);
  assert.match(await page.locator(".view-snapshot .d-new b").first().innerText(), /, region/);
  await shot(page, "snapshot-changed-1280-light");
  project.edit("templates/player_stats/sql/combine.sql", "GROUP BY player_id, region", "GROUP BY player_id");
  await page.waitForFunction(() => document.querySelector(".view-snapshot")?.textContent.includes("Everything is as accepted"));
  await nothingWrong();
});

test("a partition key shows the runs it would make, and what-if runs are runs like others", async () => {
  await open("#p=player_stats&s=one_hour&v=whatif");
  await page.fill("#whatif-key", "2026-07-01T05");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".made");
  assert.match(await text(page, ".view-whatif"), /combine[\s\S]*2026-07-01T05[\s\S]*2026-07-01 05:00 UTC/);
  await page.locator(".made", { hasText: "combine" }).first().getByRole("button", { name: "open" }).click();
  await rendersTo(page, "PARTITION (dt = '2026-07-01', hour = '05')");
  assert.match(await text(page, "#whatif-bar"), /key 2026-07-01T05/);
  await page.reload();
  await settled(page);
  await rendersTo(page, "PARTITION (dt = '2026-07-01', hour = '05')");
  await page.locator("#whatif-close").click();
  await page.waitForFunction(() => document.getElementById("whatif-bar").hidden);
  await nothingWrong();
});

test("an emitted event shows what waits, two of them the run", async () => {
  await open("#p=player_stats&s=one_hour&v=whatif");
  await page.locator("[name=asset]").first().fill("team_a_player_stats");
  await page.locator("[name=key]").first().fill("2026-08-02T03:00:00");
  await page.locator("[name=key]").first().press("Enter");
  await page.waitForSelector(".made");
  assert.match(await text(page, ".view-whatif"), /No run would be made[\s\S]*combine[\s\S]*would wait/);
  await page.getByRole("button", { name: "One more event" }).click();
  await page.locator("[name=asset]").nth(1).fill("team_b_player_stats");
  await page.locator("[name=key]").nth(1).fill("2026080203");
  await page.locator("[name=key]").nth(1).press("Enter");
  await page.waitForFunction(() => /runs? would be made/.test(document.querySelector(".view-whatif").textContent) && !document.querySelector(".view-whatif").textContent.includes("No run"));
  assert.match(await text(page, ".view-whatif"), /combine\s*2026-08-02T03/);
  await page.locator("[name=asset]").nth(1).fill("team_x_player_stats");
  await page.locator("[name=asset]").nth(1).press("Enter");
  await page.waitForSelector(".view-whatif .problem");
  assert.match(await text(page, ".view-whatif .problem"), /there is no asset `team_x_player_stats`/);
  await nothingWrong();
});

test("compares two runs side by side", async () => {
  await open("#p=player_stats&s=full_day&e=team_a_player_stats%3D2026-03-10T01:00:00%0Ateam_b_player_stats%3D2026031001%0Ateam_a_player_stats%3D2026-03-11T02:00:00%0Ateam_b_player_stats%3D2026031102&d=combine&r=2026-03-11T02&v=compare");
  assert.match(await text(page, ".view-compare .sides"), /2026-03-10T01[\s\S]*2026-03-11T02/);
  assert.match(await text(page, ".view-compare .diff >> nth=0"), /dt = '2026-03-10', hour = '01'[\s\S]*dt = '2026-03-11', hour = '02'/);
  await shot(page, "compare-runs-1280-light");
  await page.keyboard.press("x");
  await page.waitForSelector("#picker[open]");
  await page.keyboard.press("Enter");
  await settled(page);
  await page.getByRole("button", { name: "Swap" }).click();
  await settled(page);
  assert.match(await text(page, ".view-compare .sides"), /2026-03-11T02[\s\S]*2026-03-10T01/);
  await nothingWrong();
});

test("everything by keyboard", async () => {
  await open("#p=player_stats&s=one_hour");
  await page.keyboard.press("?");
  await page.waitForSelector("#help[open]");
  await shot(page, "help-1280-light");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#help:not([open])", { state: "attached" });
  const first = await text(page, "#head h1");
  await page.keyboard.press("j");
  await page.waitForFunction((before) => document.querySelector("#head h1").innerText !== before, first);
  await page.keyboard.press("k");
  await page.waitForFunction((before) => document.querySelector("#head h1").innerText === before, first);
  for (const [key, view] of [["2", "context"], ["3", "why"], ["6", "chain"], ["7", "assets"], ["8", "waiting"], ["1", "text"]]) {
    await page.keyboard.press(key);
    await page.waitForFunction((wanted) => document.body.dataset.view === wanted, view);
  }
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "runs-filter");
  await page.keyboard.type("combine");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#head h1").innerText.startsWith("combine"));
  await settled(page);
  await page.keyboard.press("]");
  await page.waitForFunction(() => document.querySelector(".fields [aria-selected=true]").textContent === "export.bash_command");
  await page.keyboard.press("[");
  await page.waitForFunction(() => document.querySelector(".fields [aria-selected=true]").textContent === "combine_stats.sql");
  await page.locator("#text").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator("#text .line.current").getAttribute("data-line"), "2");
  assert.ok((await page.locator("#template .line.linked").count()) > 0);
  // Every stop of the Tab key is something that shows it has the focus.
  await page.evaluate(() => document.activeElement.blur());
  const stops = new Set();
  for (let index = 0; index < 30; index += 1) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const element = document.activeElement;
      const style = getComputedStyle(element);
      return { name: element.id || element.className || element.tagName, shown: element === document.body || style.outlineStyle !== "none" || element.matches(".skip, .main") };
    });
    assert.ok(stop.shown, `${stop.name} does not show that it has the focus`);
    stops.add(stop.name);
  }
  assert.ok(stops.size > 10);
  await nothingWrong();
});

test("nothing jumps when another run, field or view is chosen", async () => {
  await open("#p=player_stats&s=one_hour&d=combine");
  await page.evaluate(() => {
    window.shifts = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.shifts += entry.value;
    }).observe({ type: "layout-shift" });
  });
  for (const key of ["j", "j", "k", "]", "2", "3", "1", "k"]) {
    await page.keyboard.press(key);
    await settled(page);
    await page.waitForTimeout(60);
  }
  const shifts = await page.evaluate(() => window.shifts);
  assert.ok(shifts < 0.1, `layout shifts ${shifts}`);
});

for (const [name, viewport] of [["1280", undefined], ["390", NARROW]]) {
  for (const dark of [false, true]) {
    test(`every view at ${name} pixels, ${dark ? "dark" : "light"}: nothing overflows, contrast AA, everything has a name`, async () => {
      const other = await browser.page(server.url + COMBINE, { viewport, dark });
      for (const view of ["text", "context", "why", "snapshot", "compare", "chain", "assets", "waiting", "whatif"]) {
        await open(`${COMBINE}&v=${view}`, other);
        await other.waitForTimeout(50);
        await shot(other, `${view}-${name}-${dark ? "dark" : "light"}`);
        assert.ok((await overflow(other)) <= 0, `${view} is wider than the window`);
        assert.deepEqual(await lowContrast(other), [], view);
        assert.deepEqual(await nameless(other), [], view);
      }
      await other.keyboard.press("?");
      assert.deepEqual(await lowContrast(other), [], "help");
      await other.keyboard.press("Escape");
      if (viewport) {
        await other.locator("#runs-button").click();
        await shot(other, `runs-${name}-${dark ? "dark" : "light"}`);
        await other.locator("#run-list .v-row").first().click();
        await settled(other);
        assert.equal(await other.locator("#runs").evaluate((element) => element.classList.contains("open")), false);
      }
      await other.context().close();
      await nothingWrong();
    });
  }
}
