import { Component, type RefObject } from "react";

interface KeepPlaceProps {
  /** The id of the first message. */
  first: string | undefined;
  scroller: RefObject<HTMLElement | null>;
}

/**
 * Keeps the scroll position when older messages are inserted above. A class component, because
 * `getSnapshotBeforeUpdate` has no hook. The browser's own scroll anchoring must be off.
 */
export class KeepPlace extends Component<KeepPlaceProps> {
  override getSnapshotBeforeUpdate(before: KeepPlaceProps): number | null {
    const list = this.props.scroller.current;
    if (!list || !before.first || before.first === this.props.first) return null;
    list.style.overflowAnchor = "none";
    return list.scrollHeight - list.scrollTop;
  }

  override componentDidUpdate(_: KeepPlaceProps, __: unknown, fromEnd: number | null): void {
    const list = this.props.scroller.current;
    if (!list || fromEnd === null) return;
    list.scrollTop = list.scrollHeight - fromEnd;
    requestAnimationFrame(() => {
      list.style.overflowAnchor = "";
    });
  }

  override render() {
    return null;
  }
}
