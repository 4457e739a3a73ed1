// Requests to the server, and the stream that says when files changed.

/** An error as the API gives it: `kind`, `message`, `hint`, `place`, `excerpt`. */
export class ApiError extends Error {
  constructor(error, status, others = []) {
    super(error.message);
    this.error = error;
    this.status = status;
    this.others = others;
  }
}

async function answer(response) {
  const text = await response.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    throw new ApiError({ kind: "answer", message: `the server's answer is not JSON (status ${response.status})` }, response.status);
  }
  if (response.ok) return body;
  const error = body?.error ?? { kind: "answer", message: body?.detail ? String(body.detail) : `status ${response.status}` };
  throw new ApiError(error, response.status, body?.others ?? []);
}

async function ask(url, options) {
  let response;
  try {
    response = await fetch(url, { cache: "no-store", ...options });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new ApiError({ kind: "connection", message: "The preview does not answer.", hint: "Start `partita preview` again; the page goes on by itself." }, 0);
  }
  return answer(response);
}

function address(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") query.append(name, one);
    }
  }
  const text = query.toString();
  return text ? `/api/${path}?${text}` : `/api/${path}`;
}

/** `GET /api/...`; parameters without a value are left out. */
export function get(path, parameters, signal) {
  return ask(address(path, parameters), { signal });
}

/** `GET` of any path of this server. */
export function getPath(path, signal) {
  return ask(path, { signal });
}

/** `POST /api/...` with a JSON body. */
export function post(path, body, signal) {
  return ask(address(path), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

/**
 * Listens to changes: `changed(message)` for each, `state("live" | "lost")` when the connection comes and goes. The
 * browser connects again by itself; where it gives up, this tries again.
 */
export function listen({ changed, state }) {
  let again = 0;
  let source = null;
  const start = () => {
    source = new EventSource("/api/events");
    const take = (event) => {
      let message = {};
      try {
        message = JSON.parse(event.data);
      } catch {
        // A message of another form still says that something changed.
      }
      changed(message);
    };
    source.onopen = () => state("live");
    source.onmessage = take;
    source.addEventListener("change", take);
    source.onerror = () => {
      state("lost");
      if (source.readyState === EventSource.CLOSED) {
        clearTimeout(again);
        again = setTimeout(start, 800);
      }
    };
  };
  // A browser opens six connections to a server at most: pages that nobody sees leave theirs to others. The stream says
  // the current revision first, so nothing is missed.
  document.addEventListener("visibilitychange", () => {
    clearTimeout(again);
    source?.close();
    if (!document.hidden) start();
  });
  start();
}
