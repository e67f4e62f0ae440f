import { oneOf, stored } from "@/state/stored";

export const PROTOCOLS = ["ai-sdk", "ag-ui", "socket-io"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** How the page talks to its server: whatever is chosen, it shows the same. */
export const protocol = stored<Protocol>("mobox:protocol", "ai-sdk", oneOf(...PROTOCOLS));
