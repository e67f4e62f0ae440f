import{n as e}from"./chunk-Y2CYZVJY-DsF7k-Jl.js";import{r as t}from"./d3-scale-CxaHwDzY.js";import{H as n,K as r,U as i,a,at as o,c as s,f as c,v as l,w as u,x as d,y as f}from"./chunk-DU6HZSFF-u3HPPtxv.js";import{n as p,x as m}from"./dist-CjvHN74u.js";import{n as h,u as g}from"./chunk-75Z2AOVW-B-RUv_A4.js";import{t as _}from"./mermaid-Ctbyxivy.js";function v(e,t){e.accDescr&&t.setAccDescription?.(e.accDescr),e.accTitle&&t.setAccTitle?.(e.accTitle),e.title&&t.setDiagramTitle?.(e.title)}e(v,`populateCommonDb`);var y=/^"([^"]*)"\s*:\s*(-?\d+(?:\.\d+)?)$|^'([^']*)'\s*:\s*(-?\d+(?:\.\d+)?)$/,b=/^pie\b\s*(showData\b)?\s*(?:title\s+(.*))?$/,x=/^(accTitle|accDescr|title)\s*:?\s+(.*)$/;async function S(e,t){let[n=``,...r]=t.split(`
`).map(e=>e.trim()).filter(Boolean),i=b.exec(n);if(e!==`pie`||!i)throw Error(`no parser for ${e}`);let a={$type:`Pie`,showData:!!i[1],sections:[]};i[2]&&(a.title=i[2]);for(let e of r)C(e,a);return a}function C(e,t){if(e===`showData`){t.showData=!0;return}let n=x.exec(e);if(n){t[n[1]]=n[2];return}let r=y.exec(e);if(!r)throw Error(`not a slice: ${e}`);let i=r[1]??r[3]??``;t.sections.push({$type:`PieSection`,label:i,value:Number(r[2]??r[4])})}var w=c.pie,T={sections:new Map,showData:!1,config:w},E=T.sections,D=T.showData,O=structuredClone(w),k={getConfig:e(()=>structuredClone(O),`getConfig`),clear:e(()=>{E=new Map,D=T.showData,a()},`clear`),setDiagramTitle:r,getDiagramTitle:u,setAccTitle:i,getAccTitle:f,setAccDescription:n,getAccDescription:l,addSection:e(({label:e,value:t})=>{if(t<0)throw Error(`"${e}" has invalid value: ${t}. Negative values are not allowed in pie charts. All slice values must be >= 0.`);E.has(e)||(E.set(e,t),o.debug(`added new section: ${e}, with value: ${t}`))},`addSection`),getSections:e(()=>E,`getSections`),setShowData:e(e=>{D=e},`setShowData`),getShowData:e(()=>D,`getShowData`)},A=e((e,t)=>{v(e,t),t.setShowData(e.showData),e.sections.map(t.addSection)},`populateDb`),j={parse:e(async e=>{let t=await S(`pie`,e);o.debug(t),A(t,k)},`parse`)},M=e(e=>`
  .pieCircle{
    stroke: ${e.pieStrokeColor};
    stroke-width : ${e.pieStrokeWidth};
    opacity : ${e.pieOpacity};
  }
  .pieCircle.highlighted{
    scale: 1.05;
    opacity: 1;
  }
  .pieCircle.highlightedOnHover:hover{
    transition-duration: 250ms;
    scale: 1.05;
    opacity: 1;
  }
  .pieOuterCircle{
    stroke: ${e.pieOuterStrokeColor};
    stroke-width: ${e.pieOuterStrokeWidth};
    fill: none;
  }
  .pieTitleText {
    text-anchor: middle;
    font-size: ${e.pieTitleTextSize};
    fill: ${e.pieTitleTextColor};
    font-family: ${e.fontFamily};
  }
  .slice {
    font-family: ${e.fontFamily};
    fill: ${e.pieSectionTextColor};
    font-size:${e.pieSectionTextSize};
    // fill: white;
  }
  .legend text {
    fill: ${e.pieLegendTextColor};
    font-family: ${e.fontFamily};
    font-size: ${e.pieLegendTextSize};
  }
`,`getStyles`),N=e(e=>{let t=[...e.values()].reduce((e,t)=>e+t,0),n=[...e.entries()].map(([e,t])=>({label:e,value:t})).filter(e=>e.value/t*100>=1);return m().value(e=>e.value).sort(null)(n)},`createPieArcs`),P={parser:j,db:k,renderer:{draw:e((e,n,r,i)=>{o.debug(`rendering pie chart
`+e);let a=i.db,c=d(),l=h(a.getConfig(),c.pie),u=_(n),f=u.append(`g`);f.attr(`transform`,`translate(225,225)`);let{themeVariables:m}=c,[v]=g(m.pieOuterStrokeWidth);v??=2;let y=l.legendPosition,b=l.textPosition,x=l.donutHole>0&&l.donutHole<=.9?l.donutHole:0,S=p().innerRadius(x*185).outerRadius(185),C=p().innerRadius(185*b).outerRadius(185*b),w=f.append(`g`);w.append(`circle`).attr(`cx`,0).attr(`cy`,0).attr(`r`,185+v/2).attr(`class`,`pieOuterCircle`);let T=a.getSections(),E=N(T),D=[m.pie1,m.pie2,m.pie3,m.pie4,m.pie5,m.pie6,m.pie7,m.pie8,m.pie9,m.pie10,m.pie11,m.pie12],O=0;T.forEach(e=>{O+=e});let k=E.filter(e=>(e.data.value/O*100).toFixed(0)!==`0`),A=t(D).domain([...T.keys()]);w.selectAll(`mySlices`).data(k).enter().append(`path`).attr(`d`,S).attr(`fill`,e=>A(e.data.label)).attr(`class`,e=>{let t=`pieCircle`;return l.highlightSlice===`hover`?t+=` highlightedOnHover`:l.highlightSlice===e.data.label&&(t+=` highlighted`),t}),w.selectAll(`mySlices`).data(k).enter().append(`text`).text(e=>(e.data.value/O*100).toFixed(0)+`%`).attr(`transform`,e=>`translate(`+C.centroid(e)+`)`).style(`text-anchor`,`middle`).attr(`class`,`slice`);let j=f.append(`text`).text(a.getDiagramTitle()).attr(`x`,0).attr(`y`,-200).attr(`class`,`pieTitleText`),M=[...T.entries()].map(([e,t])=>({label:e,value:t})),P=f.selectAll(`.legend`).data(M).enter().append(`g`).attr(`class`,`legend`);P.append(`rect`).attr(`width`,18).attr(`height`,18).style(`fill`,e=>A(e.label)).style(`stroke`,e=>A(e.label)),P.append(`text`).attr(`x`,22).attr(`y`,14).text(e=>a.getShowData()?`${e.label} [${e.value}]`:e.label);let F=Math.max(...P.selectAll(`text`).nodes().map(e=>e?.getBoundingClientRect().width??0)),I=450,L=490,R=M.length*22;switch(y){case`center`:P.attr(`transform`,(e,t)=>{let n=22*M.length/2,r=-F/2-22,i=t*22-n;return`translate(`+r+`,`+i+`)`});break;case`top`:I+=R,P.attr(`transform`,(e,t)=>`translate(${-F/2-22}, ${t*22-185})`),w.attr(`transform`,()=>`translate(0, ${R+22})`);break;case`bottom`:I+=R,P.attr(`transform`,(e,t)=>{let n=-F/2-22,r=t*22- -207;return`translate(`+n+`,`+r+`)`});break;case`left`:L+=22+F,P.attr(`transform`,(e,t)=>{let n=22*M.length/2;return`translate(-207,`+(t*22-n)+`)`}),w.attr(`transform`,()=>`translate(${F+18+4}, 0)`);break;default:L+=22+F,P.attr(`transform`,(e,t)=>{let n=22*M.length/2;return`translate(216,`+(t*22-n)+`)`})}let z=j.node()?.getBoundingClientRect().width??0,B=225-z/2,V=225+z/2,H=Math.min(0,B),U=Math.max(L,V)-H;u.attr(`viewBox`,`${H} 0 ${U} ${I}`),s(u,I,U,l.useMaxWidth)},`draw`)},styles:M};export{P as diagram};