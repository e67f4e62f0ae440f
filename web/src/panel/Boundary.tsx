import { Component, type ReactNode } from "react";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { strings } from "@/strings";

/** What breaks in here does not break the chat: code that is not on the server any more, for one. */
export class Boundary extends Component<{ children: ReactNode }, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    if (!this.state.isBroken) return this.props.children;
    return (
      <div className="p-3">
        <ErrorBlock network text={strings.panel.broken} onRetry={() => location.reload()} />
      </div>
    );
  }
}
