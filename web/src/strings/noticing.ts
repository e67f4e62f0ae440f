/** Text that reaches people who look elsewhere: the tab's title, and notifications. */
export const noticing = {
  /** The tab's title; `title` has the chat's name and the product's. */
  tab: {
    working: (title: string) => `Working · ${title}`,
    waiting: (title: string) => `Waiting for you · ${title}`,
    done: (title: string) => `Done · ${title}`,
    failed: (title: string) => `Failed · ${title}`,
  },
  notifications: {
    waiting: "The agent needs your answer.",
    done: "The agent finished.",
    failed: "The agent failed.",
  },
  offer: "Notify you when the agent needs you or is done?",
  accept: "Notify me",
  decline: "No thanks",
  blocked: "Your browser blocks notifications from this page.",
  setting: "Notify me in the background",
  settingBlocked: "Blocked in your browser's settings",
  failedChat: "The last answer failed",
};
