import FoundationEssentials
import OpenSSLCrypto
import Posix
import SyncProtocol

/// A report as one self-contained HTML page: no script, no other file, no requests. Every chart has a title and a
/// description, and a collapsible table with its numbers below it. The page's content security policy blocks anything
/// that might be injected.
struct ReportPage {
    private let report: ServerReport

    init(_ report: ServerReport) { self.report = report }

    /// The page in UTF-8.
    var bytes: [UInt8] {
        let style = ReportStyle.sheet
        let digest = IncrementalDigest.digest(of: Array(style.description.utf8), .sha256)
        let policy =
            "default-src 'none'; style-src 'sha256-\(Data(digest).base64EncodedString())'; base-uri 'none'; "
            + "form-action 'none'"
        var page: HTMLText = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="referrer" content="no-referrer">
            <title>SyncServer report, \(report.madeAt.iso8601)</title>
            <style>
            """
        page.append(style: style)
        page += "</style>\n</head>\n<body>\n"
        page += header
        page += "<main>\n"
        for section in report.sections { page += Self.card(section) }
        page += "</main>\n</body>\n</html>\n"
        return Array(page.markup.utf8)
    }

    // MARK: The page's header

    private var header: HTMLText {
        var header: HTMLText = """
            <header>
            <h1>SyncServer report</h1>
            <p>\(report.madeAt.iso8601). Created by syncctl \(report.version)\(server).</p>

            """
        if report.sandbox { header += "<p class=\"alert\">\(ServerReport.sandboxNotice)</p>\n" }
        if !report.gaps.isEmpty {
            header += "<div class=\"alert\" role=\"alert\">\n<h2>Not everything could be examined</h2>\n<ul>\n"
            for gap in report.gaps {
                header += "<li><b>\(gap.source.words)</b>: \(gap.reason). <span class=\"fix\">\(gap.fix)</span></li>\n"
            }
            header += "</ul>\n</div>\n"
        }
        header += "<dl class=\"tiles\">\n"
        for tile in ReportTile.all(of: report) {
            header +=
                "<div class=\"tile\(tile.isBad ? " bad" as HTMLText : "")\"><dt>\(tile.name)</dt><dd>\(tile.figure)"
            if let remark = tile.remark { header += "<small>\(remark)</small>" }
            header += "</dd></div>\n"
        }
        header += "</dl>\n</header>\n"
        return header
    }

    private var server: String {
        guard let metrics = report.metrics else { return "" }
        let processes = metrics.processes.filter { $0.value > 0 }.sorted { $0.key < $1.key }
        return "; the server on this host is \(metrics.serverVersion ?? "of an unknown version"), with processes: "
            + (processes.isEmpty ? "none" : processes.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
    }

    // MARK: Sections

    private static func card(_ section: ReportSection) -> HTMLText {
        var card: HTMLText = "<section id=\"\(section.id)\">\n<h2>\(section.title)</h2>\n"
        switch section.content {
        case .figures(let chart, let table):
            card += "<p>\(capitalized(section.remark)).</p>\n"
            if let chart {
                card += figure(chart, section)
            } else {
                card += "<p class=\"empty\">Nothing to show yet: all numbers are 0.</p>\n"
            }
            card += numbers(table, of: section, isOpen: chart == nil)
        case .nothing(let sentence):
            card += "<p>\(capitalized(section.remark)).</p>\n<p class=\"empty\">\(sentence)</p>\n"
        case .missing(let source):
            card += "<p class=\"alert\">Missing: \(source.words). The top of the page shows the reason.</p>\n"
        }
        card += "</section>\n"
        return card
    }

    private static func figure(_ chart: any Chart, _ section: ReportSection) -> HTMLText {
        var figure: HTMLText = "<figure>\n"
        figure += chart.drawing.svg(id: section.id, title: section.title, description: chart.description)
        if !chart.legend.isEmpty {
            figure += "<figcaption><ul class=\"legend\">\n"
            for entry in chart.legend {
                figure += "<li><span class=\"swatch \(entry.tone.className)\"></span>\(entry.meaning)</li>\n"
            }
            figure += "</ul></figcaption>\n"
        }
        figure += "</figure>\n"
        return figure
    }

    /// The collapsible table; it is open on paper.
    private static func numbers(_ table: ReportTable, of section: ReportSection, isOpen: Bool) -> HTMLText {
        let open: HTMLText = isOpen ? " open" : ""
        var html: HTMLText = """
            <details\(open)>
            <summary>Numbers</summary>
            <div class="numbers" tabindex="0" role="region" aria-label="\(section.title), numbers">
            <table>
            <thead><tr>
            """
        for (column, name) in table.header.enumerated() {
            let isWords = table.rows.contains { if case .words = $0[column] { true } else { false } }
            html += "<th scope=\"col\"\(isWords ? " class=\"words\"" as HTMLText : "")>\(name)</th>"
        }
        html += "</tr></thead>\n<tbody>\n"
        for row in table.rows {
            html += "<tr>"
            for (column, cell) in row.enumerated() { html += self.cell(cell, isHead: column == 0) }
            html += "</tr>\n"
        }
        html += "</tbody>\n</table>\n</div>\n</details>\n"
        return html
    }

    private static func cell(_ cell: ReportTable.Cell, isHead: Bool) -> HTMLText {
        switch cell {
        case .words(let text) where isHead: "<th scope=\"row\">\(breakable(text))</th>"
        case .words(let text): "<td class=\"words\">\(breakable(text))</td>"
        case .count(let number): "<td>\(Quantity.grouped(number))</td>"
        case .measure(let text): "<td>\(text)</td>"
        case .none: "<td>–</td>"
        }
    }

    /// Allows line breaks between the parts of compound names and paths.
    private static func breakable(_ text: String) -> HTMLText {
        var html = HTMLText()
        var part = ""
        for character in text {
            if character.isUppercase, part.last?.isLowercase == true {
                html += "\(part)<wbr>"
                part = ""
            }
            part.append(character)
            if character == "/" || character == "_" {
                html += "\(part)<wbr>"
                part = ""
            }
        }
        html += "\(part)"
        return html
    }

    private static func capitalized(_ sentence: String) -> String {
        sentence.prefix(1).uppercased() + sentence.dropFirst()
    }
}

/// A key figure at the top of the page.
struct ReportTile {
    var name: String
    var figure: String
    var remark: String?
    /// Whether it needs attention.
    var isBad = false

    static func all(of report: ServerReport) -> [ReportTile] {
        database(report) + metrics(report) + certificates(report)
    }

    private static func database(_ report: ServerReport) -> [ReportTile] {
        guard let counts = report.database?.counts else {
            return [ReportTile(name: "Database", figure: "MISSING", isBad: true)]
        }
        let outbox = counts.outbox
        return [
            ReportTile(name: "Users", figure: Quantity.grouped(counts.users.values.reduce(0, +))),
            ReportTile(
                name: "Groups", figure: Quantity.grouped(counts.groups),
                remark: "and \(Quantity.grouped(counts.deletedGroups)) ended ones"),
            ReportTile(
                name: "Files", figure: Quantity.grouped(counts.files), remark: Quantity.bytes(counts.fileBytes)),
            ReportTile(
                name: "Due work", figure: Quantity.grouped(outbox.due),
                remark: outbox.longestDueSeconds > 0
                    ? "the oldest for \(Quantity.seconds(outbox.longestDueSeconds))" : nil,
                isBad: outbox.longestDueSeconds > 600),
            ReportTile(
                name: "Database", figure: Quantity.bytes(counts.databaseBytes),
                remark: "MariaDB \(counts.databaseVersion.prefix { $0 != "-" })"),
        ]
    }

    private static func metrics(_ report: ServerReport) -> [ReportTile] {
        guard let metrics = report.metrics else {
            return [ReportTile(name: "Requests", figure: "MISSING", isBad: true)]
        }
        let statuses = StatusCounts(metrics.statuses)
        let backupAge = metrics.lastBackup.map { report.madeAt.secondsSince1970 - $0.secondsSince1970 }
        return [
            ReportTile(
                name: "Requests", figure: Quantity.grouped(metrics.requests),
                remark: metrics.latency.map { "median \(Quantity.duration($0.median))" }),
            ReportTile(
                name: "Failed requests", figure: Quantity.grouped(statuses.failed),
                remark: share(statuses.failed, of: metrics.requests), isBad: statuses.failed * 100 > metrics.requests),
            ReportTile(
                name: "Uploaded", figure: Quantity.bytes(Int64(metrics.uploadedBytes)),
                remark: "downloaded \(Quantity.bytes(Int64(metrics.downloadedBytes)))"),
            ReportTile(
                name: "Last backup", figure: backupAge.map { Quantity.seconds(max(0, $0)) } ?? "none",
                remark: backupAge == nil ? "on this host" : "ago"),
        ]
    }

    private static func certificates(_ report: ServerReport) -> [ReportTile] {
        guard let days = report.certificates.validities.map(\.daysLeft).min() else {
            return [ReportTile(name: "Certificate", figure: "MISSING", isBad: true)]
        }
        return [
            ReportTile(
                name: "Certificate", figure: days < 0 ? "EXPIRED" : Quantity.of(days, "day"),
                remark: days < 0 ? nil : "left", isBad: days < CertificateCheck.warningDays)
        ]
    }

    /// Rounded to a hundredth of a percent, but never to zero.
    private static func share(_ part: Int, of whole: Int) -> String? {
        guard part > 0, whole > 0 else { return nil }
        let hundredths = Int((Double(part) / Double(whole) * 10_000).rounded())
        guard hundredths > 0 else { return "less than 0.01 %" }
        let fraction = String(hundredths % 100)
        return "\(hundredths / 100).\(fraction.count < 2 ? "0" : "")\(fraction) %"
    }
}

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
