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
