/**
 * Stands in for the plugins with which streamdown parses HTML and cleans it afterwards. We never use
 * them, since HTML is text here, but they are a third of its size. (vite.config.ts puts it there.)
 */
export default function unused(): never {
  throw new Error("HTML is not parsed here");
}
export const harden = unused;
export const defaultSchema = {};
