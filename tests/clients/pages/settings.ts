// What a test sets, in the address of the page: ?server=http://127.0.0.1:8000&chat=c1&token=mbx_…
//
// A page imports this before the document's code, which reads the server's address as
// `import.meta.env.VITE_MOBOX_URL` (bundle.mjs) and the key from the session's storage.

const given = new URLSearchParams(location.search);

declare global {
  var moboxUrl: string | undefined;
}

/** The server's address, without a slash at its end. */
export const server = given.get("server") ?? "";
/** The id of the chat that the page shows. */
export const chat = given.get("chat") ?? "";
/** The API key, if the server requires one. */
export const token = given.get("token") ?? undefined;

globalThis.moboxUrl = server;
if (token) sessionStorage.setItem("mobox-key", token);
