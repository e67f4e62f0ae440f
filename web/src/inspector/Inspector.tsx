/** What an agent said, what became of it, and what was sent. */
export default function Inspector(_: { chatId: string; runId: string }) {
  return null;
}
