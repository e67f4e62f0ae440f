/** Every word a person reads, in one place. A function where a number or a name goes in. */
export const strings = {
  product: "Mobox",

  // content/: Markdown, code, charts, citations
  content: {
    copy: "Copy",
    copied: "Copied",
  },

  // parts/: the blocks of an answer
  parts: {
    processing: "Processing…",
    processed: "Processed",
    processedIn: (duration: string) => `Processed in ${duration}`,
    thinking: "Thinking…",
    thought: "Thought",
    thoughtFor: (duration: string) => `Thought for ${duration}`,
  },

  // chat/: one conversation
  chat: {},

  // shell/: what is around it
  shell: {},
};
