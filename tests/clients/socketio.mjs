// The real Socket.IO client, many sockets in one process.
//
// A request is one line of JSON on stdin, its answer one line on stdout, in order:
//   {"id", "do": "open", "socket", "url", "with"?}        answered when it is connected, or refused
//   {"id", "do": "ask", "socket", "event", "payload"}     answered with what the server answers
//   {"id", "do": "tell", "socket", "event", "payload"}    wants no answer from the server
//   {"id", "do": "read", "socket", "name", "count", "last"?, "run"?}
//        answered with all events of that name (and run), once there are so many, or one of that type
//   {"id", "do": "all", "socket"}                         every event so far, in order
//   {"id", "do": "drop", "socket"}                        cuts the transport, answered when it is back
//   {"id", "do": "raw", "socket", "text"}                 says that over a WebSocket, whatever it is
//   {"id", "do": "upgraded", "socket"}                    answered when it is over on a WebSocket
//   {"id", "do": "gone", "socket"}                        answered when the server has hung up
//   {"id", "do": "pause", "socket"} and "go_on"           stops to take what comes, without a word
//   {"id", "do": "close", "socket"}
//   {"id", "do": "watch", "watch", "url", "readers", "join", "until", "last"?}   does not wait
//   {"id", "do": "watched", "watch", "count"?}            answered when all readers have read so much
//
// A reader of `watch` is {"every", "transport"}: it joins the session, cuts its transport after every
// so many events, and joins again from its last one, until it has `until` events, or one of the types
// `last`. Where the server cannot read what it has stored, it asks again until that can.

import { Agent } from "node:http";
import { createInterface } from "node:readline";
import { io } from "socket.io-client";

console.log = console.error; // stdout is for answers

const IMPATIENT = { reconnectionDelay: 1, reconnectionDelayMax: 5, randomizationFactor: 0 };

/** Wakes whoever waits for something to change. */
class Bell {
  #waiting = [];
  ring() {
    for (const wake of this.#waiting.splice(0)) wake();
  }
  async until(happened) {
    while (!happened()) await new Promise((wake) => this.#waiting.push(wake));
  }
}

/** A connection; `from` is the address of this machine that it comes from. */
function connect(url, { from, ...options }) {
  const agent = from && new Agent({ keepAlive: true, localAddress: from });
  return io(url, { ...IMPATIENT, forceNew: true, transports: ["websocket"], agent, ...options });
}

class Session {
  events = [];
  connects = 0;
  closed = false;
  bell = new Bell();

  constructor({ url, with: options = {} }) {
    this.socket = connect(url, options);
    this.socket.onAny((name, payload) => this.#note({ name, payload }));
    this.socket.on("connect", () => this.#note(null, ++this.connects));
    this.socket.on("connect_error", (error) => this.#note(null, (this.refused = String(error.message))));
    this.socket.on("disconnect", (reason) => this.#note(null, (this.closed = reason)));
  }

  #note(event) {
    if (event) this.events.push(event);
    this.bell.ring();
  }

  /** The answer, which is noted in its place among the events. */
  ask({ event, payload }) {
    return new Promise((resolve) => {
      this.socket.emit(event, ...payload, (answer) => {
        this.#note({ name: `answer to ${event}`, payload: answer });
        resolve(answer);
      });
    });
  }

  async open() {
    await this.bell.until(() => this.connects || this.refused);
    if (!this.connects) this.socket.close();
    return { connected: this.connects > 0, refused: this.refused ?? null };
  }

  named(name) {
    return this.events.filter((event) => event.name === name).map((event) => event.payload);
  }

  async read({ name, count, last, run }) {
    const wanted = () => this.named(name).filter((payload) => run === undefined || payload.messageId === run);
    const isLast = (payload) => last !== undefined && (payload.type ?? payload.data?.type ?? payload.data) === last;
    await this.bell.until(() => wanted().length >= count || wanted().some(isLast));
    return wanted();
  }

  async drop() {
    const before = this.connects;
    this.socket.io.engine.close();
    await this.bell.until(() => this.connects > before);
  }

  async upgraded() {
    const { engine } = this.socket.io;
    if (engine.transport.name === "websocket") return;
    await new Promise((resolve) => engine.once("upgrade", resolve));
  }

  /** The socket below, which only a WebSocket has. */
  get wire() {
    return this.socket.io.engine.transport.ws._socket;
  }
}

/** Reads one session to its end over a connection that breaks again and again.
 *
 * A connection is cut between two events: what the client has taken off it by then, and hands on
 * when it is connected again, counts as lost.
 */
class Reader {
  told = [];
  drops = 0;
  isCut = false;
  bell = new Bell();

  constructor(url, { every, transport }, { join, until, last }) {
    this.until = until;
    this.last = last;
    this.join = join;
    this.every = every;
    this.socket = connect(url, { transports: [transport] });
    this.socket.on("connect", () => this.#join());
    this.socket.on("agent:event", (event) => this.#hear(event));
    this.socket.on("agent:frame", (frame) => this.#hear(frame));
    this.socket.on("session:error", ({ error }) => this.#fail(error));
  }

  get isOver() {
    const isAtLast = this.last?.includes(this.told.at(-1)?.type);
    return this.failure !== undefined || isAtLast || this.told.length >= this.until;
  }

  async #join() {
    this.isCut = false;
    const joining = this.socket.emitWithAck("session:join", { ...this.join, ...this.#place() });
    const joined = await joining.catch(() => ({})); // cut off before the answer: there is another
    if (joined.error) this.#fail(joined.error);
  }

  #place() {
    const last = this.told.at(-1);
    if (last === undefined) return {};
    if (last.cursor === undefined) return { lastEventIndex: last.eventIndex };
    return { after: { runId: last.runId, cursor: last.cursor } };
  }

  #hear(event) {
    if (this.isCut) return;
    this.told.push(event);
    this.bell.ring();
    if (this.told.length % this.every || this.isOver) return;
    this.isCut = true;
    this.drops++;
    this.socket.io.engine.close();
  }

  #fail(error) {
    if (error.code === "storage_unavailable") return setTimeout(() => this.socket.connected && this.#join(), 100);
    this.failure = JSON.stringify(error);
    this.bell.ring();
  }

  report() {
    return { told: this.told, drops: this.drops, failure: this.failure ?? null };
  }
}

/** Some readers, a few at a time if they are many. */
class Watch {
  constructor({ url, readers, ...wanted }) {
    this.readers = readers.map((reader) => new Reader(url, reader, wanted));
  }

  async watched({ count }) {
    for (const reader of this.readers) {
      await reader.bell.until(() => reader.isOver || reader.told.length >= (count ?? Infinity));
    }
    if (count !== undefined) return null;
    for (const reader of this.readers) reader.socket.close();
    return this.readers.map((reader) => reader.report());
  }
}

const sessions = new Map();
const watches = new Map();
const of = (request) => sessions.get(request.socket);
const ACTIONS = {
  open: (request) => {
    sessions.set(request.socket, new Session(request));
    return of(request).open();
  },
  ask: (request) => of(request).ask(request),
  tell: (request) => void of(request).socket.emit(request.event, ...request.payload),
  read: (request) => of(request).read(request),
  all: (request) => of(request).events,
  drop: (request) => of(request).drop(),
  upgraded: (request) => of(request).upgraded(),
  gone: async (request) => {
    await of(request).bell.until(() => of(request).closed);
    return of(request).closed;
  },
  raw: (request) => void of(request).socket.io.engine.transport.ws.send(request.text),
  pause: (request) => void of(request).wire.pause(),
  go_on: (request) => void of(request).wire.resume(),
  close: (request) => {
    of(request).socket.close();
    sessions.delete(request.socket);
  },
  watch: (request) => void watches.set(request.watch, new Watch(request)),
  watched: (request) => watches.get(request.watch).watched(request),
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = await (async () => ({ ok: true, value: await ACTIONS[request.do](request) }))().catch(
    (error) => ({ ok: false, error: String(error.stack) }),
  );
  process.stdout.write(JSON.stringify({ id: request.id, ...answer }) + "\n");
}
process.exit(0); // whatever is still connected, nobody wants it any more
