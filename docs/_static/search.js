// The search shows excerpts of the pages that it fetches. A site that is opened from a disk cannot fetch them;
// there their text comes from a script (page_texts.py)
if (location.protocol === "file:") {
  const texts = new Promise((resolve) => (window.setPageTexts = resolve));
  const script = document.createElement("script");
  script.src = new URL("_static/page_texts.js", document.baseURI);
  document.head.append(script);
  window.fetch = async (address) => {
    const page = new URL(address, document.baseURI).href.slice(new URL(".", document.baseURI).href.length);
    return new Response((await texts)[page]);
  };
}
