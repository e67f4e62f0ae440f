/** One frame of a stream, and the cursor after it. */
export interface Received {
  cursor: string | undefined;
  data: string;
}

/**
 * Parser of server-sent events as our server writes them: lines end with LF, fields are `id` and `data`.
 * Accepts chunks split anywhere; returns the complete frames.
 */
export class EventReader {
  #decoder = new TextDecoder();
  #rest = "";

  feed(bytes: Uint8Array): Received[] {
    const frames = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n\n");
    this.#rest = frames.pop() ?? "";
    return frames.map(parseFrame).filter((event) => event !== undefined);
  }
}

/** A frame without data is a heartbeat. */
function parseFrame(frame: string): Received | undefined {
  const fields = frame.split("\n").map((line) => line.split(/: ?(.*)/s));
  const data = fields.filter(([name]) => name === "data").map(([, value = ""]) => value);
  const cursor = fields.findLast(([name]) => name === "id")?.[1];
  return data.length ? { cursor, data: data.join("\n") } : undefined;
}
