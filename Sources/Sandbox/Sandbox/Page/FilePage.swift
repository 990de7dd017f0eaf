/// The page of one file in a person's storage: displays pictures and text.
struct FilePage {
    let server: SandboxServer
    let account: Account
    /// The amount of text to display, in bytes.
    private static let shownBytes = 262_144

    /// The page of the newest file with that name in the folder named by `?folder=`.
    /// - Throws: ``ControlError/notFound(_:)``.
    func response(to request: SandboxRequest, name: String) throws(ControlError) -> SandboxResponse {
        let folder = request.query["folder"] ?? ""
        let files = server.withState { $0.shownFiles(of: account)?.files } ?? []
        guard let file = files.last(where: { $0.name == name && $0.folder == folder }) else {
            throw .notFound("file \(name) does not exist")
        }
        let address = file.address(in: "files", of: account)
        var html = "<header><p><a href=\"/sandbox\">All people</a></p><h1>\(PageText.escape(name))</h1><p class=meta>"
        html += "\(PageText.size(file.sizeBytes)) · \(PageText.escape(file.mimeType)) · "
        html += "\(file.modifiedAt.shown) · in \(PageText.escape(account.name))’s storage "
        html += "\(PageLayout.badge(account.provider))</p></header><main>"
        let (content, isWhole) = file.content(in: server.directory, of: account, limit: Self.shownBytes)
        switch content {
        case .picture: html += "<img class=whole src=\"\(address)\" alt=\"\(PageText.escape(name))\">"
        case .text("") where isWhole: html += "<p class=empty>The file is empty.</p>"
        case .text(let text):
            html += "<pre>\(PageText.escapeLines(text))</pre>"
            if !isWhole {
                html +=
                    "<p class=empty>The first \(PageText.size(Self.shownBytes)) of \(PageText.size(file.sizeBytes))."
                html += "</p>"
            }
        case .bytes: html += "<p class=empty>Neither a picture nor text.</p>"
        }
        html += "<p><a class=button href=\"\(address)\" download>Save the file</a></p></main>"
        return PageLayout.response(name, body: html)
    }
}
