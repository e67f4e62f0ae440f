/**
 * Zod, which the AI SDK uses, tests whether `eval` is allowed. The content security policy forbids it and
 * the browser reports each attempt, so it is disabled before Zod loads.
 */
(globalThis as { __zod_globalConfig?: object }).__zod_globalConfig = { jitless: true };

export {};
