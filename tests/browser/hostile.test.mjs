// Names, keys, templates and errors that try to be HTML; thousands of runs; a server that goes away.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, NARROW, Project, Server, overflow, rendered, rendersTo, settled, shot, text } from "./harness.mjs";

const EVIL = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>";
const LONG = `2026-03-10T09:00:00|${"region-of-the-north-west-".repeat(9)}`;

const HOSTILE = {
  "hostile/pipeline.yaml": `assets:
  "${EVIL}": "s3://bucket/<b>bold</b>"
  second: "s3://bucket/second"
dags:
  consume:
    schedule: {PartitionedAssetTimetable: {assets: '"${EVIL}"'}}
    params: {markup: "${EVIL}"}
    tasks:
      show:
        operator: BashOperator
        bash_command: "echo '${EVIL} {{ partition_key }} {{ params.markup }}'"
      fail:
        operator: BashOperator
        bash_command: "{{ '<i>x</i>'.nothing() }}"
`,
  "hostile/scenarios/first.yaml": `steps:
  - emit: '"${EVIL}"'
    partition_key: "${EVIL}"
  - emit: '"${EVIL}"'
    partition_key: "${LONG}"
`,
};

const MANY = 3000;
// One pass of the scheduler looks at 500 pending runs, as Airflow does.
const CROWD = {
  "crowd/pipeline.yaml": `assets: {events: "s3://bucket/events"}
dags:
  load:
    schedule: {PartitionedAssetTimetable: {assets: events}}
    tasks:
      load: {operator: SQLExecuteQueryOperator, sql: "SELECT '{{ partition_key }}'"}
`,
  "crowd/scenarios/many.yaml": `steps:\n${Array.from({ length: MANY }, (_, index) => `  - {emit: events, partition_key: "key-${String(index).padStart(5, "0")}"}\n${index % 500 === 499 ? "  - tick\n" : ""}`).join("")}`,
};

let browser;
const servers = [];
const projects = [];

before(async () => {
  browser = await Browser.open();
});

after(async () => {
  await browser?.close();
  for (const server of servers) await server.stop();
  for (const project of projects) project.remove();
});

async function start(files, ...options) {
  const project = new Project(files);
  projects.push(project);
  const server = await Server.start(project, ...options);
  servers.push(server);
  return { project, server };
}

test("nothing from data becomes part of the page", async () => {
  const { server } = await start(HOSTILE, "hostile");
  const page = await browser.page(server.url);
  assert.ok((await rendered(page)).includes(EVIL));
  for (const view of ["text", "context", "why", "snapshot", "compare", "chain", "assets", "waiting", "whatif"]) {
    await page.goto(`${server.url}#v=${view}`);
    await settled(page);
    assert.equal(await page.evaluate(() => window.hacked), undefined, view);
    assert.equal(await page.locator("main img, main script, main b b, nav img, nav script").count(), 0, view);
    assert.ok((await overflow(page)) <= 0, `${view} is wider than the window`);
  }
  await page.goto(`${server.url}#t=fail&f=bash_command&v=text`);
  await page.waitForSelector(".made-text .problem");
  await page.goto(`${server.url}#e=${encodeURIComponent(`${EVIL}=${EVIL}`)}&v=text`);
  await settled(page);
  await page.keyboard.press("p");
  await page.keyboard.type(EVIL);
  await page.keyboard.press("Escape");
  await page.fill("#runs-filter", EVIL);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  const narrow = await browser.page(`${server.url}#v=text`, { viewport: NARROW });
  assert.ok((await overflow(narrow)) <= 0);
  await shot(narrow, "hostile-390-light");
  assert.deepEqual(browser.complaints.filter((line) => !/status of 4\d\d/.test(line)), []);
  browser.complaints.length = 0;
});

test("thousands of runs: the list stays short in the page, the filter finds one", async () => {
  const { server } = await start(CROWD, "crowd");
  const begun = Date.now();
  const page = await browser.page(server.url);
  console.log(`# ${MANY} runs: the page was ready after ${Date.now() - begun} ms`);
  assert.equal(await text(page, "#runs-count"), `${MANY.toLocaleString("en")} runs`);
  assert.ok((await page.locator(".v-row").count()) < 60);
  await page.focus("#run-list");
  await page.keyboard.press("End");
  await rendersTo(page, `SELECT 'key-${String(MANY - 1).padStart(5, "0")}'`);
  const typed = Date.now();
  await page.fill("#runs-filter", "key-01234");
  await page.waitForFunction(() => document.getElementById("runs-count").textContent.startsWith("1 of"));
  console.log(`# the filter answered after ${Date.now() - typed} ms`);
  await page.keyboard.press("Enter");
  await rendersTo(page, "SELECT 'key-01234'");
  await shot(page, "crowd-1280-light");
  assert.deepEqual(browser.complaints, []);
});

test("a text of twenty thousand lines can be read and gone through", async () => {
  const { server } = await start(
    {
      "long/pipeline.yaml": `dags:
  load:
    schedule: PartitionedAtRuntime
    tasks:
      load: {operator: SQLExecuteQueryOperator, sql: long.sql}
`,
      "long/long.sql": "SELECT 1\n{% for n in range(20000) %}UNION ALL SELECT {{ n }}\n{% endfor %}-- end",
      "long/scenarios/one.yaml": "steps:\n  - {run: load, partition_key: k}\n",
    },
    "long",
  );
  const begun = Date.now();
  const page = await browser.page(server.url);
  await rendersTo(page, "UNION ALL SELECT 19999");
  console.log(`# 20,002 lines: shown after ${Date.now() - begun} ms`);
  await page.focus("#text");
  const pressed = Date.now();
  await page.keyboard.press("End");
  await page.waitForFunction(() => {
    const row = document.querySelector("#text .line.current");
    const pane = document.getElementById("text").getBoundingClientRect();
    const box = row?.getBoundingClientRect();
    return box && box.top >= pane.top && box.bottom <= pane.bottom && row.textContent.includes("-- end");
  });
  await page.keyboard.press("ArrowUp");
  await page.waitForFunction(() => document.querySelector("#template .line.linked")?.textContent.includes("UNION ALL SELECT"));
  console.log(`# End and one line up took ${Date.now() - pressed} ms`);
  await page.close();
  assert.deepEqual(browser.complaints, []);
});

test("says when the server is gone", async () => {
  const { server } = await start(CROWD, "crowd");
  const page = await browser.page(server.url);
  const { code, ms } = await server.stop();
  assert.equal(code, 0);
  assert.ok(ms < 1000, `ending took ${ms} ms although a page listens`);
  await page.waitForFunction(() => document.getElementById("live").dataset.state === "lost");
  assert.equal(await text(page, "#live"), "not connected");
  browser.complaints.length = 0;
});
