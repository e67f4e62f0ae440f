import { oneOf, stored } from "@/state/stored";

export const PROTOCOLS = ["ai-sdk", "ag-ui", "socket-io"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** The protocol between page and server; the page looks the same with each. */
export const protocol = stored<Protocol>("mobox:protocol", "ai-sdk", oneOf(...PROTOCOLS));
