/** Draws the charts in the reader's browser, from the global `charts`; draws anew when size or colour scheme changes. */
export const reportScript = `
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = (value) => value == null ? '–' : value && Math.abs(value) < 1e-4 ? value.toExponential(1) : new Intl.NumberFormat('en', { maximumSignificantDigits: 4 }).format(value);
  const around = (level) => level === 0 ? [0, 1] : [Math.min(0, 2 * level), Math.max(0, 2 * level)];
  let drawn = [];

  const axis = (label, extra) => ({
    label, labelSize: 22, labelFont: '12px system-ui, sans-serif', font: '11.5px system-ui, sans-serif',
    stroke: colour('--quiet'), grid: { stroke: colour('--grid'), width: 1 }, ticks: { show: false }, ...extra,
  });

  const draw = (chart) => {
    const place = document.getElementById('chart-' + chart.id);
    const few = chart.x.length <= 60;
    const series = chart.lines.map((line, i) => ({
      label: line.label, stroke: colour('--line-' + i), width: 2, dash: i ? [6, 4] : undefined,
      points: { show: few, size: 5, fill: colour('--line-' + i) }, spanGaps: true,
      value: (_, value) => number(value),
    }));
    const options = {
      width: place.clientWidth, height: 232,
      scales: {
        x: { time: false, range: (_, low, high) => low === high ? [low - 1, high + 1] : [low, high] },
        y: { range: (_, low, high) => low === high ? around(low) : uPlot.rangeNum(low, high, 0.08, true) },
      },
      axes: [
        axis(chart.xTitle, { size: 30, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000, 100000] }),
        axis(chart.yTitle, { size: 58, values: (_, ticks) => ticks.map(number) }),
      ],
      series: [{ label: chart.xTitle, value: (_, value) => number(value) }, ...series],
      cursor: { y: false, drag: { x: false, y: false } },
    };
    const plot = new uPlot(options, [chart.x, ...chart.lines.map((line) => line.values)], place);
    const showLast = () => plot.setLegend({ idx: chart.x.length - 1 });
    plot.over.addEventListener('mouseleave', showLast);
    requestAnimationFrame(showLast);
    drawn.push(plot);
  };

  const drawAll = () => {
    drawn.forEach((plot) => plot.destroy());
    drawn = [];
    charts.forEach(draw);
  };

  let timer;
  addEventListener('resize', () => { clearTimeout(timer); timer = setTimeout(drawAll, 100); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  drawAll();
})();
`;
