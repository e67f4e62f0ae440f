import { fieldsOf, numberOf, textOf } from "@/json";

/** A stored file, as a part of a message. */
export interface FilePart {
  type: "file";
  url: string;
  mediaType: string;
  filename?: string;
}

/** A file of a message that is being written. */
export interface Attachment {
  id: string;
  name: string;
  mediaType: string;
  size: number;
  /** Once the server has stored it. */
  part?: FilePart;
}

/** Whether a value that was read from the browser's storage is one. */
export function isAttachment(value: unknown): value is Attachment {
  const { id, name, mediaType, size } = fieldsOf(value);
  const words = [id, name, mediaType].every((each) => textOf(each) !== undefined);
  return words && numberOf(size) !== undefined;
}

/** The parts of the message; files that are not stored yet have none. */
export const partsOf = (files: Attachment[]): FilePart[] =>
  files.flatMap(({ part }) => (part ? [part] : []));
