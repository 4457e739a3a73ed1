// The list of runs: all of a scenario, filtered by key, Dag or date.
import { $, h, put, counted, instant } from "./dom.js";
import { VirtualList, matches } from "./virtual.js";

export class RunList {
  constructor({ chosen }) {
    this.scene = null;
    this.shown = [];
    this.run = null;
    this.list = new VirtualList({
      id: "run-list",
      label: "Runs",
      height: 50,
      row,
      choose: (run) => chosen(run),
    });
    this.foot = h("div", { class: "runs-foot", role: "status", "aria-label": "Warnings", hidden: true });
    $("runs").append(this.list.element, this.foot);
    this.filter = $("runs-filter");
    this.filter.addEventListener("input", () => this.refresh(true));
    this.filter.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") {
        event.preventDefault();
        if (!this.shown.length) return;
        this.list.element.focus();
        if (event.key === "Enter" || this.list.selected < 0) this.list.pick(Math.max(0, this.list.selected));
      }
    });
  }

  /** Shows the runs of a scenario with one of them chosen, and what the pipeline and the scenario warn of. */
  show(scene, run, pipeline) {
    const same = this.scene === scene;
    const moved = this.run?.id !== run?.id || this.run?.dag !== run?.dag;
    this.scene = scene;
    this.run = run;
    if (!same) {
      const warnings = [...new Set([...(pipeline?.warnings ?? []).map((one) => one.message), ...(scene?.warnings ?? [])])];
      this.foot.hidden = !warnings.length;
      put(this.foot, warnings.slice(0, 20).map((text) => h("p", {}, h("span", { class: "tag warn" }, "warning"), " ", text)));
    }
    if (!same) this.refresh(moved);
    else if (moved) this.list.select(this.shown.indexOf(run));
  }

  refresh(reveal) {
    const query = this.filter.value.trim();
    const all = this.scene?.runs ?? [];
    this.shown = query ? all.filter((run) => matches(query, run.words)) : all;
    const at = this.shown.findIndex((run) => run.id === this.run?.id && run.dag === this.run?.dag);
    this.list.show(this.shown, at);
    if (reveal && at >= 0) this.list.reveal(at);
    const count = query ? `${this.shown.length.toLocaleString("en")} of ${counted(all.length, "run")}` : counted(all.length, "run");
    $("runs-count").textContent = query && !this.shown.length ? `No run matches “${query}”` : count;
  }

  neighbour(by) {
    const at = this.shown.findIndex((run) => run.id === this.run?.id && run.dag === this.run?.dag);
    return at < 0 ? this.shown[0] : this.shown[at + by];
  }

  focus() {
    this.list.element.focus();
    this.list.reveal(Math.max(0, this.list.selected));
  }
}

function row(run) {
  const key = run.key ?? run.logical ?? null;
  return h(
    "div",
    { class: "run", title: [run.dag, run.key ?? "no partition key", run.id].join("\n") },
    key === null
      ? h("span", { class: "key none" }, "no partition key")
      : h("span", { class: "key" }, run.key === null ? instant(key) : key === "" ? '""' : key),
    h("span", { class: "state" }, run.short),
    h("span", { class: "dag" }, run.dag),
    h("span", { class: "date" }, run.date && instant(run.date).slice(0, 16) !== key ? instant(run.date).replace(" UTC", "") : ""),
  );
}
