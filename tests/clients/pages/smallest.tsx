import "./settings";
import { createRoot } from "react-dom/client";

// Imported late: the module reads the server's address when it is loaded.
const { Smallest } = await import("documented/Smallest");
createRoot(document.getElementById("root")!).render(<Smallest />);
