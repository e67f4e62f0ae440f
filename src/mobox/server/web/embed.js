// Puts the chat of a Mobox server into a page of another site: docs/embed.md. Without dependencies, and without
// styles in the page: those of the button are in its own shadow tree.
(() => {
  const script = document.currentScript;
  if (!(script instanceof HTMLScriptElement)) return;
  const server = new URL(".", script.src);
  const options = script.dataset;
  const label = options.label || "Chat";
  const isInline = Boolean(options.target);
  const atStart = options.position === "start";

  const address = new URL("embed", server);
  const asked = { agent: options.agent, lang: options.lang, close: isInline ? "" : "1" };
  for (const [name, value] of Object.entries(asked)) {
    if (value) address.searchParams.set(name, value);
  }

  const STYLES = `
    :host { all: initial; }
    button {
      position: fixed; z-index: 2147483000; bottom: 20px; ${atStart ? "inset-inline-start" : "inset-inline-end"}: 20px;
      width: 56px; height: 56px; border: 0; border-radius: 50%; cursor: pointer;
      background: ${colour(options.colour) || "#4f46e5"}; color: #fff; box-shadow: 0 4px 16px rgb(0 0 0 / .25);
      display: grid; place-items: center;
    }
    button:focus-visible { outline: 3px solid #fff; outline-offset: -6px; box-shadow: 0 0 0 3px #000; }
    svg { width: 26px; height: 26px; }
    iframe { border: 0; background: #fff; color-scheme: normal; }
    .bubble {
      position: fixed; z-index: 2147483000; bottom: 88px; ${atStart ? "inset-inline-start" : "inset-inline-end"}: 20px;
      width: min(400px, calc(100vw - 40px)); height: min(640px, calc(100dvh - 108px));
      border-radius: 16px; box-shadow: 0 8px 40px rgb(0 0 0 / .3);
    }
    .inline { display: block; width: 100%; height: 100%; }
    [hidden] { display: none; }
    @media (max-width: 480px) {
      .bubble { inset: 0; width: 100vw; height: 100dvh; border-radius: 0; }
    }
  `;
  const ICON =
    '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" ' +
    'stroke-linejoin="round" aria-hidden="true"><path d="M7.9 20A9 9 0 1 0 4 16.1L2 22Z"/></svg>';

  /** Only a colour: the text is part of a stylesheet. */
  function colour(text) {
    return /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text || "") ? text : "";
  }

  function shadowIn(host) {
    const root = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLES);
    root.adoptedStyleSheets = [sheet];
    return root;
  }

  function frameOf(kind) {
    const frame = document.createElement("iframe");
    frame.title = label;
    frame.className = kind;
    frame.allow = "clipboard-write";
    frame.src = address.href;
    return frame;
  }

  /** Gives the frame its token when it asks, and calls `onClose` when it wants to be closed. */
  function talk(frame, onClose) {
    window.addEventListener("message", ({ source, origin, data }) => {
      if (source !== frame.contentWindow || origin !== server.origin) return;
      if (data?.type === "mobox:close") onClose();
      if (data?.type === "mobox:ready" && options.token) {
        frame.contentWindow.postMessage({ type: "mobox:token", token: options.token }, server.origin);
      }
    });
  }

  function inline() {
    const target = document.querySelector(options.target);
    if (!target) {
      console.error(`Mobox: no element ${options.target} for the chat (data-target of embed.js)`);
      return;
    }
    const frame = frameOf("inline");
    talk(frame, () => {});
    shadowIn(target.attachShadow ? target : target.appendChild(document.createElement("div"))).append(frame);
  }

  /** The frame is made when it is first opened: until then the page loads nothing of the chat. */
  function bubble() {
    const root = shadowIn(document.body.appendChild(document.createElement("div")));
    const button = document.createElement("button");
    button.type = "button";
    button.innerHTML = ICON;
    button.setAttribute("aria-label", label);
    button.setAttribute("aria-expanded", "false");
    let frame;
    const show = (isOpen) => {
      if (isOpen && !frame) {
        frame = frameOf("bubble");
        talk(frame, () => show(false));
        root.append(frame);
      }
      if (frame) frame.hidden = !isOpen;
      button.setAttribute("aria-expanded", String(isOpen));
      if (isOpen) frame.focus();
      else button.focus();
    };
    button.addEventListener("click", () => show(!frame || frame.hidden));
    root.append(button);
    if (options.open !== undefined) show(true);
  }

  const start = isInline ? inline : bubble;
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
