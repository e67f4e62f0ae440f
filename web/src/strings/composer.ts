/** Text of the composer: attachments, the queue, and the list that `/` opens. */
export const composer = {
  attach: "Attach files",
  dropHere: "Drop files to attach them",
  attachments: "Attachments",
  uploading: (percent: number) => `Uploading, ${percent}%`,
  remove: (name: string) => `Remove ${name}`,
  retry: (name: string) => `Upload ${name} again`,
  problems: {
    tooLarge: (most: string) => `Too large. A file may have ${most}.`,
    tooLargeUnknown: "Too large for this server.",
    full: (most: string) => `Your files fill the ${most} you may store. Delete old chats first.`,
    fullUnknown: "Your storage is full. Delete old chats first.",
    offline: "You're offline. Upload again when you're back.",
    lost: "The server can't be reached. Upload again in a moment.",
    folder: "Folders can't be attached. Attach the files in it.",
    cutOff: "The upload was cut off by a reload. Attach the file again.",
    refused: (message: string) => `Not uploaded: ${message}`,
  },
  /** The bytes are not those of the type that the file's name promises. */
  otherType: (type: string) => `Not a valid ${type} file: sent as plain data.`,
  stillUploading: "Still uploading. Send when it's done.",
  removeFailed: "A file wasn't uploaded. Try it again, or remove it.",

  queue: {
    name: "Queued messages",
    count: (count: number) => (count === 1 ? "1 queued message" : `${count} queued messages`),
    editOf: (text: string) => `Edit queued message: ${text}`,
    editing: "Edit the queued message",
    save: "Save",
    cancel: "Cancel",
    takeBackOf: (text: string) => `Take back into the message box: ${text}`,
    sendNow: "Send now",
    sendNowOf: (text: string) => `Send now: ${text}`,
    sendNowHint: "Stops the agent and sends this message",
    files: (count: number) => (count === 1 ? "1 file" : `${count} files`),
    /** When the first one is sent, or why it is not. */
    notes: {
      working: "Sent when the agent is done.",
      waiting: "Sent after you've answered the question above.",
      failed: "Not sent, because the last answer failed.",
      stopped: "Not sent, because you stopped the agent.",
      unfinished: "Not sent, because the last answer is not complete.",
      refused: "Not sent: the server refused it.",
      editing: "Sent when you've finished editing.",
      offline: "Sent when the server can be reached.",
    },
  },

  slash: {
    name: "Agents and starters",
    shortcut: "Agents and starters (when the box is empty)",
    agents: "Agents",
    starters: "Starters",
    found: (count: number) => (count === 1 ? "1 suggestion" : `${count} suggestions`),
  },
};
