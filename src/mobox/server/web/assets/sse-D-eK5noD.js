var e=class{show;#e;constructor(e){this.show=e}add(){this.#e??=setTimeout(this.flush,80)}flush=()=>{this.#e!==void 0&&(this.drop(),this.show())};drop(){clearTimeout(this.#e),this.#e=void 0}},t=class{#e=new TextDecoder;#t=``;feed(e){let t=(this.#t+this.#e.decode(e,{stream:!0})).split(`

`);return this.#t=t.pop()??``,t.map(n).filter(e=>e!==void 0)}};function n(e){let t=e.split(`
`).map(e=>e.split(/: ?(.*)/s)),n=t.filter(([e])=>e===`data`).map(([,e=``])=>e),r=t.findLast(([e])=>e===`id`)?.[1];return n.length?{cursor:r,data:n.join(`
`)}:void 0}export{e as n,t};