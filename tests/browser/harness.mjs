// A project in a temporary folder, the real binary previewing it, and Chromium looking at the page.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const OUT = join(ROOT, "target/browser");
const require = createRequire(join(OUT, "package.json"));
const { chromium } = require("playwright-core");

const BINARY = resolve(process.env.PARTITA ?? join(ROOT, "target/debug/partita"));
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

// For working on the page: its files from this folder, not from the binary.
const PAGE = process.env.PARTITA_PAGE;

function fromFolder(route) {
  const { pathname } = new URL(route.request().url());
  const file = join(PAGE, pathname === "/" ? "index.html" : pathname.slice(1));
  return pathname.startsWith("/api/") || !existsSync(file) ? route.continue() : route.fulfill({ path: file });
}

export const WIDE = { width: 1280, height: 800 };
export const NARROW = { width: 390, height: 844 };

mkdirSync(OUT, { recursive: true });

/** A folder with a copy of a sample, or with these files. */
export class Project {
  constructor(files = {}) {
    this.dir = mkdtempSync(join(tmpdir(), "partita-browser-"));
    for (const [path, text] of Object.entries(files)) this.write(path, text);
  }

  static sample(name) {
    const project = new Project();
    cpSync(join(ROOT, "templates", name), join(project.dir, "templates", name), { recursive: true });
    cpSync(join(ROOT, "snapshots", name), join(project.dir, "snapshots", name), { recursive: true });
    return project;
  }

  path(path) {
    return join(this.dir, path);
  }

  read(path) {
    return readFileSync(this.path(path), "utf8");
  }

  write(path, text) {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), text);
  }

  edit(path, from, to) {
    const text = this.read(path);
    if (!text.includes(from)) throw new Error(`${path} has no ${JSON.stringify(from)}`);
    this.write(path, text.replace(from, to));
  }

  remove() {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** `partita preview` on a free port. */
export class Server {
  static async start(project, ...options) {
    const server = new Server();
    server.process = spawn(BINARY, ["preview", "--port", "0", ...options], {
      cwd: project.dir,
      env: { ...process.env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    server.errors = "";
    server.process.stderr.on("data", (text) => (server.errors += text));
    server.url = await new Promise((done, fail) => {
      let said = "";
      const timer = setTimeout(() => fail(new Error(`no address in 20 s: ${said}${server.errors}`)), 20_000);
      const look = () => {
        const found = /http:\/\/[\d.:a-z]+\/?/.exec(said + server.errors);
        if (!found) return;
        clearTimeout(timer);
        done(found[0].replace(/\/?$/, "/"));
      };
      server.process.stdout.on("data", (text) => {
        said += text;
        look();
      });
      server.process.stderr.on("data", look);
      server.process.once("error", fail);
      server.process.once("exit", (code) => fail(new Error(`partita preview ended with ${code}: ${server.errors}`)));
    });
    return server;
  }

  /** Stops it as Ctrl-C does; the exit code and how long that took. */
  async stop() {
    if (this.process.exitCode !== null) return { code: this.process.exitCode, ms: 0 };
    const begun = Date.now();
    const ended = new Promise((done) => this.process.once("exit", done));
    this.process.kill("SIGINT");
    const code = await ended;
    return { code, ms: Date.now() - begun };
  }
}

/** Chromium with a fresh profile. Everything the page complains about makes the test fail. */
export class Browser {
  static async open() {
    const browser = new Browser();
    browser.chromium = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, headless: true });
    browser.complaints = [];
    return browser;
  }

  async page(url, { viewport = WIDE, dark = false } = {}) {
    const context = await this.chromium.newContext({ viewport, colorScheme: dark ? "dark" : "light", hasTouch: viewport.width < 800 });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    page.on("pageerror", (error) => this.complaints.push(`page: ${error.stack ?? error}`));
    page.on("console", (message) => {
      // What the API refuses with a sentence is part of the page's work.
      if (/status of 4(09|22)/.test(message.text())) return;
      if (message.type() === "error" || message.type() === "warning") this.complaints.push(`console: ${message.text()}`);
    });
    page.on("dialog", (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(new URL(url).origin)) this.complaints.push(`request to ${request.url()}`);
    });
    if (PAGE) await page.route("**/*", fromFolder);
    await page.goto(url);
    await settled(page);
    return page;
  }

  close() {
    return this.chromium.close();
  }
}

/** Waits until nothing is being asked and drawn. */
export async function settled(page) {
  await page.waitForFunction(() => document.body.dataset.busy === "false");
}

export const text = (page, selector) => page.locator(selector).innerText();

/** The rendered text as the page has it, without line numbers. */
export const rendered = (page) =>
  page.evaluate(() => [...document.querySelectorAll("#text .line .src")].map((line) => line.textContent).join("\n"));

/** Waits until the rendered text has a part in it. */
export const rendersTo = (page, part) =>
  page.waitForFunction(
    (wanted) => [...document.querySelectorAll("#text .line .src")].map((line) => line.textContent).join("\n").includes(wanted),
    part,
  );

export function shot(page, name) {
  return page.screenshot({ path: join(OUT, `${name}.png`) });
}

/** Whether anything is wider than the window. */
export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/**
 * Every visible text whose contrast with what is behind it is below WCAG's AA: 4.5, or 3 where it is large. Grounds that
 * are images or half transparent are not looked at.
 */
export function lowContrast(page) {
  return page.evaluate(() => {
    const parse = (text) => {
      const parts = /rgba?\(([^)]+)\)/.exec(text);
      if (!parts) return null;
      const [r, g, b, a = 1] = parts[1].split(/[ ,/]+/).filter(Boolean).map(Number);
      return { r, g, b, a };
    };
    const light = ({ r, g, b }) => {
      const channel = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
      return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    };
    const ground = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const colour = parse(getComputedStyle(at).backgroundColor);
        if (colour && colour.a === 1) return colour;
        if (colour && colour.a > 0) return null;
      }
      return { r: 255, g: 255, b: 255, a: 1 };
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || element.closest("svg, noscript, script, dialog:not([open]), [hidden], button:disabled")) continue;
      const box = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      if (!box.width || !box.height || style.visibility === "hidden" || style.opacity === "0") continue;
      const behind = ground(element);
      const ink = parse(style.color);
      if (!behind || !ink || ink.a < 1) continue;
      const [high, low] = [light(ink), light(behind)].sort((a, b) => b - a);
      const ratio = (high + 0.05) / (low + 0.05);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (large ? 3 : 4.5)) {
        found.push(`${ratio.toFixed(2)} ${element.tagName.toLowerCase()}.${element.className} "${walker.currentNode.data.trim().slice(0, 30)}"`);
      }
    }
    return [...new Set(found)];
  });
}

/** Buttons, inputs and the like that a screen reader could not name. */
export function nameless(page) {
  return page.evaluate(() => {
    const found = [];
    for (const element of document.querySelectorAll("button, input, select, [role=button], [role=listbox], [role=tab], dialog[open]")) {
      if (!element.getClientRects().length) continue;
      const labels = element.labels ? [...element.labels].map((label) => label.textContent).join("") : "";
      const name = element.getAttribute("aria-label") ?? element.getAttribute("aria-labelledby") ?? (labels || element.textContent || element.title);
      if (!name.trim()) found.push(element.outerHTML.slice(0, 120));
    }
    return found;
  });
}
