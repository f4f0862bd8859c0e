// Feishu's colour names for cards, light theme: shade order 50 100 200 300 350 400 500 600 700 800 900; the bare name is 600.

const SHADES = [50, 100, 200, 300, 350, 400, 500, 600, 700, 800, 900];

const PALETTE = {
  blue: "f0f4ff e0e9ff c2d4ff 94b4ff 7aa2ff 5083fb 336df4 1456f0 0442d2 002f9e 002270",
  carmine: "fef0f8 fee2f2 f8c4e1 f598cc eb78b8 df58a5 cc398c b82879 9d1562 730744 550c35",
  green: "e4fae1 d0f5ce 95e599 5cd168 35bd4b 32a645 258832 1a7526 0b6017 04430c 022c07",
  indigo: "f2f3fd e9eafb cccff9 abb0f2 959bee 757df0 5b65f5 4752e6 333dcc 1e27a4 151b70",
  lime: "f2f8d3 e3f0a3 c8dd5f a2c10b 91ad00 7b9207 6b7f06 5c6d08 4a5804 333d00 262e00",
  grey: "f5f6f7 f2f3f5 eff0f1 dee0e3 d0d3d6 bbbfc4 8f959e 646a73 373c43 2b2f36 1f2329",
  orange: "fff3e5 fee7cd fec48b ff9d4c ff811a ed6d0c c25705 a44904 853a05 642b02 3b1a02",
  purple: "f5f0fe efe6fe dcc9fd c8a9fc b791fa 9f6ff1 8d55ed 7a35f0 611fd6 4811a6 2f0080",
  red: "fef0f0 fee3e2 fdc6c4 f89e9b ff7570 f54a45 e22e28 c02a26 a11c17 741915 590603",
  sunflower: "ffffdb fffca3 fff67a fff258 ffe928 e5ce00 c2a800 8f7c00 5c4f00 423700 2c2502",
  turquoise: "e2f8f5 c4f2ec 6fe8d8 33d6c0 2dbeab 10a893 0f8575 067062 045d51 03443b 02312a",
  violet: "fceefc f9e2f9 f3c4f3 e59ce5 de81de cf5ecf bf3dbf a630a6 872787 6a116a 520052",
  wathet: "e7f8fe caeffc 97dcfc 3ec3f7 25b0e7 1295ca 047fb0 076a94 0f587a 06415c 072b3d",
  yellow: "fbf4df faedc2 fcdf7e fad355 ffc60a d99904 ad7a03 865b03 6f4a01 573601 382201",
};

const EXTRA = {
  default: "#1f2329",
  white: "#ffffff",
  "bg-white": "#ffffff",
  "grey-00": "#ffffff",
  "grey-650": "#51565d",
  "grey-950": "#0f1114",
  "grey-1000": "#000000",
};

/** The CSS colour for a Feishu colour name, a custom name from config.style.color, or null when the client knows neither. */
export function color(name, custom = {}) {
  if (typeof name !== "string") return null;
  if (custom[name]?.light_mode && /^rgba?\([\d\s.,%]+\)$/.test(custom[name].light_mode)) return custom[name].light_mode;
  if (EXTRA[name]) return EXTRA[name];
  const [hue, number] = name.split("-");
  const shades = PALETTE[hue === "neutral" ? "grey" : hue]?.split(" ");
  if (!shades) return null;
  const index = SHADES.indexOf(number === undefined ? 600 : Number(number));
  return index < 0 ? null : `#${shades[index]}`;
}

export const TEMPLATES = [
  "blue",
  "wathet",
  "turquoise",
  "green",
  "yellow",
  "orange",
  "red",
  "carmine",
  "violet",
  "purple",
  "indigo",
  "grey",
];
export const TAG_COLORS = [
  "neutral",
  "blue",
  "turquoise",
  "lime",
  "orange",
  "violet",
  "indigo",
  "wathet",
  "green",
  "yellow",
  "red",
  "purple",
  "carmine",
];
