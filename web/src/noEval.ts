/**
 * Zod, by which the AI SDK reads what comes, tries whether it may make code at run time. It may
 * not, and the browser reports each try; so it is told before it is loaded.
 */
(globalThis as { __zod_globalConfig?: object }).__zod_globalConfig = { jitless: true };

export {};
