/** The page that shows a recording. */
export const viewing = {
  menu: "Open a recording…",
  title: "Recording",
  heading: "Look into any agent's output",
  line: "Drop a file here: an agent's JSON lines, an SSE response, a cassette or a downloaded log. It's shown as chat, timeline and frames. Nothing is stored.",
  choose: "Choose a file",
  another: "Open another",
  drop: "Drop to open the recording",
  back: "Back to the chats",
  framework: "Framework",
  detected: (name: string) => `${name} (detected)`,
  log: "Log of Mobox",
  looksLike: (name: string) => `Looks like ${name}.`,
  unsupported: (name: string) =>
    `This looks like ${name}, which Mobox can't read yet. Choose a framework to try it.`,
  unknown: "The format was not recognized. Choose the framework that wrote it.",
  reading: "Reading…",
  gone: "The file can't be read any more. Choose it again.",
  prompt: "You",
  chat: "Chat",
  inspector: "Inspector",
};
