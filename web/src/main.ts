import "@/noEval";
// Before the components' own styles, since it defines the order of the layers.
import "@/index.css";
import { loadStrings } from "@/strings";

// The page's modules may read texts when they are evaluated, so the texts come first.
void loadStrings()
  .then(() => import("@/start"))
  .then(({ start }) => start());
