/**
 * Replaces streamdown's plugins that parse and sanitize HTML. They are unused, since HTML is shown as
 * text, but make up a third of its size. (Aliased in vite.config.ts.)
 */
export default function unused(): never {
  throw new Error("HTML is not parsed here");
}
export const harden = unused;
export const defaultSchema = {};
