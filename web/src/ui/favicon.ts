/** Draws a badge onto the page's icon. As a picture of the page itself: the page's CSP allows `data:` images. */
export type Badge = "working" | "waiting" | "done" | "failed";

/** Each has its own sign: a colour alone would say nothing to many. */
const BADGES: Record<Badge, { ground: string; sign: string }> = {
  working: { ground: "#4f46e5", sign: "…" },
  waiting: { ground: "#b45309", sign: "?" },
  done: { ground: "#15713a", sign: "✓" },
  failed: { ground: "#b42318", sign: "!" },
};
const SIZE = 64;
const DOT = { x: 44, y: 44, radius: 20 };

const NAME = "data-plain";
let wanted: Badge | undefined;

/** Shows the icon with a badge, or without one. */
export function setBadge(badge: Badge | undefined): void {
  wanted = badge;
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (!link) return;
  const plain = link.getAttribute(NAME) ?? link.href;
  if (badge === undefined) {
    link.removeAttribute("data-badge");
    if (link.href !== plain) link.href = plain;
    return;
  }
  link.setAttribute(NAME, plain);
  const icon = new Image();
  icon.onload = () => {
    const drawn = wanted === badge ? draw(icon, badge) : undefined;
    if (!drawn) return;
    link.href = drawn;
    link.dataset.badge = badge;
  };
  icon.src = plain;
}

function draw(icon: HTMLImageElement, badge: Badge): string | undefined {
  const canvas = document.createElement("canvas");
  canvas.width = SIZE;
  canvas.height = SIZE;
  const brush = canvas.getContext("2d");
  if (!brush) return undefined;
  brush.drawImage(icon, 0, 0, SIZE, SIZE);
  const { ground, sign } = BADGES[badge];
  brush.fillStyle = ground;
  brush.strokeStyle = "#ffffff";
  brush.lineWidth = 4;
  brush.beginPath();
  brush.arc(DOT.x, DOT.y, DOT.radius - 2, 0, 2 * Math.PI);
  brush.fill();
  brush.stroke();
  brush.fillStyle = "#ffffff";
  brush.font = "bold 28px sans-serif";
  brush.textAlign = "center";
  brush.textBaseline = "middle";
  brush.fillText(sign, DOT.x, DOT.y + 1);
  return canvas.toDataURL("image/png");
}
