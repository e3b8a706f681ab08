// What is wrong with a page as people see it: pictures without names, texts over each other or cut off, figures that are
// missing, columns that are hidden, and a page wider than its window. Its value is a list of sentences.
(() => {
    const faults = [];
    const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";
    const said = (picture, what) => (picture.querySelector(`:scope > ${what}`) || {textContent: ""}).textContent;

    // Boxes of lines are higher than what is drawn of them.
    const meet = (a, b) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    const inside = (a, frame) =>
        a.left > frame.left - 1 && a.right < frame.right + 1 && a.top > frame.top - 1 && a.bottom < frame.bottom + 1;

    const pictures = [...document.querySelectorAll("svg")].filter(shown);
    if (pictures.length === 0) faults.push("no picture");
    for (const picture of pictures) {
        const name = said(picture, "title");
        if (!name) faults.push("a picture has no title");
        if (!said(picture, "desc")) faults.push(`${name}: has no description`);
        const frame = picture.getBoundingClientRect();
        const texts = [...picture.querySelectorAll("text")].map((e) => ({text: e.textContent, box: e.getBoundingClientRect()}));
        texts.forEach(({text, box}, index) => {
            if (!text.trim()) faults.push(`${name}: an empty text`);
            if (!inside(box, frame)) faults.push(`${name}: "${text}" is cut off`);
            for (const other of texts.slice(0, index))
                if (meet(box, other.box)) faults.push(`${name}: "${other.text}" and "${text}" overlap`);
        });
        for (const shape of picture.querySelectorAll("rect, line, polyline"))
            for (const {name: key, value} of shape.attributes)
                if (/NaN|None|undefined|\binf\b/.test(value)) faults.push(`${name}: ${key}="${value}"`);
    }

    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (words.nextNode()) {
        const text = words.currentNode.data.trim();
        if (/\b(NaN|None|null|undefined|nan|inf)\b/.test(text)) faults.push(`a missing figure: ${text.slice(0, 60)}`);
    }
    for (const cell of document.querySelectorAll("td, th, dt, dd, figcaption"))
        if (!cell.textContent.trim()) faults.push(`an empty ${cell.tagName.toLowerCase()}`);
    for (const figure of document.querySelectorAll("figure"))
        if (![...figure.querySelectorAll("svg")].some(shown)) faults.push("a figure without a picture");
    for (const detail of document.querySelectorAll("details")) detail.open = true;
    for (const part of document.querySelectorAll(".scroll"))
        if (part.scrollWidth > part.clientWidth)
            faults.push(`${part.getAttribute("aria-label")}: ${part.scrollWidth - part.clientWidth} pixels of a table are hidden`);
    const beyond = document.documentElement.scrollWidth - window.innerWidth;
    if (beyond > 0) faults.push(`the page is ${beyond} pixels wider than its window`);
    return faults;
})();
