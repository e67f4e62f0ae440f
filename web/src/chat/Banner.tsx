import { LoaderCircle, WifiOff } from "lucide-react";
import { useSyncExternalStore } from "react";
import { strings } from "@/strings";

function subscribe(listener: () => void): () => void {
  window.addEventListener("online", listener);
  window.addEventListener("offline", listener);
  return () => {
    window.removeEventListener("online", listener);
    window.removeEventListener("offline", listener);
  };
}

/** Shows a lost connection. The live region is always rendered, usually empty. */
export function Banner({ isLost }: { isLost: boolean }) {
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine);
  const Icon = isOnline ? LoaderCircle : WifiOff;
  return (
    <div role="status" className="shrink-0">
      {(isLost || !isOnline) && (
        <p className="flex items-center justify-center gap-2 border-b bg-running-ground px-4 py-1.5 text-block text-running">
          <Icon aria-hidden className={isOnline ? "size-4 animate-spin" : "size-4 shrink-0"} />
          {isOnline ? strings.shell.reconnecting : strings.shell.offline}
        </p>
      )}
    </div>
  );
}
