import { expect, test } from "vitest";
import { evenHeadings } from "@/content/headings";

test.each([
  ["### A\n\n##### B\n\n### C", "# A\n\n## B\n\n# C"],
  ["# A\n## B\n# C\n### D", "# A\n## B\n# C\n## D"],
  ["```\n### no\n```\n### A", "```\n### no\n```\n# A"],
  ["- ### A", "- # A"],
  ["### A\n## B\n#### C", "# A\n# B\n## C"],
  ["#tag and C#", "#tag and C#"],
])("%j becomes %j", (text, even) => {
  expect(evenHeadings(text)).toBe(even);
});
