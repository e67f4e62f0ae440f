import { strings } from "@/strings";

/** The whole page: who was talked to, and the chat. */
export function App() {
  return <h1>{strings.product}</h1>;
}
