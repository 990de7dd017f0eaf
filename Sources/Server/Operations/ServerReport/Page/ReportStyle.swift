/// The page's appearance: columns of cards, one on a phone; light, dark, and for printing.
enum ReportStyle {
    /// The tones also differ in brightness.
    static let sheet: StaticString = """
        :root{color-scheme:light dark;--page:#f4f6f9;--card:#fff;--text:#1b2430;--quiet:#5b6675;--rule:#dfe4ea;--track:#eef1f5;\
        --main:#174fae;--second:#4a8be6;--third:#93bdf5;--warning:#e2960f;--bad:#c62f3e;--alert:#fdecee}
        @media(prefers-color-scheme:dark){:root{--page:#11161d;--card:#1a212b;--text:#e6ebf2;--quiet:#9aa7b8;--rule:#303a48;\
        --track:#252e3a;--main:#8fbcff;--second:#4f83d1;--third:#3c639b;--warning:#f0b03c;--bad:#ff7b86;--alert:#3a1d23}}
        *{box-sizing:border-box}
        body{background:var(--page);color:var(--text);font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:84rem;\
        overflow-wrap:anywhere;padding:1.5rem}
        h1{font-size:1.6rem;line-height:1.2;margin:0}h2{font-size:1.1rem;margin:0}
        header p{color:var(--quiet);margin:.3rem 0 0}
        .alert,header p.alert{background:var(--alert);border-left:.3rem solid var(--bad);border-radius:.3rem;color:var(--text);\
        margin:1rem 0 0;padding:.6rem .9rem}
        .alert ul{margin:.3rem 0 0;padding-left:1.2rem}.fix{font-family:ui-monospace,monospace;font-size:.9em}
        .tiles{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));margin:1rem 0}
        .tile,section{background:var(--card);border:1px solid var(--rule);border-radius:.6rem}
        .tile{padding:.6rem .8rem}.tile dt{color:var(--quiet);font-size:.8rem}
        .tile dd{font-size:1.3rem;font-weight:600;line-height:1.25;margin:0}
        .tile small{color:var(--quiet);display:block;font-size:.8rem;font-weight:400}
        .tile.bad{border-color:var(--bad)}.tile.bad dd{color:var(--bad)}
        main{columns:24rem;column-gap:1rem}
        section{break-inside:avoid;margin:0 0 1rem;padding:1rem}
        section p{color:var(--quiet);font-size:.85rem;margin:.2rem 0 .6rem}
        section p.alert{color:var(--text)}section p.empty{color:var(--text);font-size:1rem;margin:.8rem 0 .2rem}
        figure{margin:0}svg{display:block;height:auto;overflow:visible;width:100%}
        svg text{fill:var(--text);font:13px system-ui,sans-serif}svg text.quiet{fill:var(--quiet);font-size:11px}
        .track{fill:var(--track)}.rule{stroke:var(--rule)}
        .mark.main,.area.main{fill:var(--main)}.mark.second{fill:var(--second)}.mark.third{fill:var(--third)}
        .mark.warning{fill:var(--warning)}.mark.bad{fill:var(--bad)}
        .mark.line{fill:none;stroke-linejoin:round;stroke-width:2}.line.main{stroke:var(--main)}.line.second{stroke:var(--second);stroke-dasharray:5 3}
        .area{opacity:.16}
        summary{color:var(--quiet);cursor:pointer;font-size:.8rem;margin-top:.6rem;width:max-content}
        .legend{color:var(--quiet);display:flex;flex-wrap:wrap;font-size:.8rem;gap:.1rem .9rem;list-style:none;margin:.5rem 0 0;padding:0}
        .swatch{border-radius:.15rem;display:inline-block;height:.7rem;margin-right:.35rem;width:.7rem}
        .swatch.main{background:var(--main)}.swatch.second{background:var(--second)}.swatch.third{background:var(--third)}
        .swatch.warning{background:var(--warning)}.swatch.bad{background:var(--bad)}
        .numbers{margin-top:.3rem;overflow-x:auto}
        .numbers:focus-visible{outline:2px solid var(--main);outline-offset:2px}
        table{border-collapse:collapse;font-size:.8rem;width:100%}
        th,td{border-top:1px solid var(--rule);padding:.25rem .3rem;text-align:right;vertical-align:top}
        td{font-variant-numeric:tabular-nums;overflow-wrap:normal;white-space:nowrap}
        th{font-weight:500}thead th{border-top:0;color:var(--quiet);overflow-wrap:normal;vertical-align:bottom}
        th[scope=row],th.words,td.words{overflow-wrap:break-word;text-align:left}td.words{min-width:8rem;white-space:normal}
        th:first-child{padding-left:0}th:last-child,td:last-child{padding-right:0}
        @media(max-width:30rem){body{padding:.8rem}table{font-size:.75rem}th,td{padding:.25rem .2rem}section{padding:.8rem}.tiles{grid-template-columns:repeat(2,1fr)}}
        @media print{:root{--page:#fff;--card:#fff;--text:#000;--quiet:#444;--rule:#ccc;--track:#eee;--main:#174fae;--second:#4a8be6;\
        --third:#93bdf5;--warning:#e2960f;--bad:#c62f3e;--alert:#fff}body{max-width:none;padding:0}main{columns:2}\
        summary{display:none}details::details-content{block-size:auto;content-visibility:visible;display:block}\
        .mark,.area,.track,.swatch{print-color-adjust:exact;-webkit-print-color-adjust:exact}}

        """
}
