const text = document.getElementById("text");

async function show() {
  const answer = await fetch("/api/pipelines");
  text.textContent = JSON.stringify(await answer.json(), null, 2);
}

new EventSource("/api/events").addEventListener("change", show);
show();
