/// How a request names an item (Microsoft Graph, "Address resources in a drive on OneDrive"): by ID, by a path from the
/// root or the app's folder, or by a path from an ID.
struct GraphAddress: Equatable {
    /// The beginning of the path.
    enum Base: Equatable {
        case root
        case appFolder
        case item(String)
    }

    let base: Base
    /// Decoded names from the base downwards; empty for the base itself.
    let path: [String]
    /// The operation on the item: `children`, `content`, `createUploadSession`, …; empty for the item itself.
    let action: String

    /// Parses the part after the drive, such as `/special/approot:/a/b.txt:/content`, still percent-encoded. `nil` if
    /// it is not an address.
    init?(_ text: Substring) {
        var rest = text
        if rest.hasPrefix("/root") {
            base = .root
            rest = rest.dropFirst("/root".count)
        } else if rest.hasPrefix("/special/approot") {
            base = .appFolder
            rest = rest.dropFirst("/special/approot".count)
        } else if rest.hasPrefix("/items/") {
            rest = rest.dropFirst("/items/".count)
            let id = rest.prefix { $0 != "/" && $0 != ":" }
            guard !id.isEmpty, let decoded = PercentEncoding.decode(id, plusIsBlank: false) else { return nil }
            base = .item(decoded)
            rest = rest.dropFirst(id.count)
        } else {
            return nil
        }
        var names: [String] = []
        if rest.hasPrefix(":") {
            rest = rest.dropFirst()
            let relative = rest.prefix { $0 != ":" }
            rest = rest.dropFirst(relative.count)
            for segment in relative.split(separator: "/", omittingEmptySubsequences: true) {
                guard let name = PercentEncoding.decode(segment, plusIsBlank: false) else { return nil }
                names.append(name)
            }
            if rest.hasPrefix(":") { rest = rest.dropFirst() }
        }
        path = names
        guard rest.isEmpty || rest.hasPrefix("/") else { return nil }
        action = String(rest.drop { $0 == "/" })
    }

    /// Whether OneDrive accepts the name.
    static func isValidName(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.count <= 400, !name.contains(where: { "\"*:<>?/\\|".contains($0) }),
            name.first != " ", name.last != " ", name.last != "."
        else { return false }
        let upper = name.uppercased()
        let stem = upper.prefix { $0 != "." }
        let reserved: Set = ["CON", "PRN", "AUX", "NUL"]
        let isNumbered = stem.count == 4 && (stem.hasPrefix("COM") || stem.hasPrefix("LPT")) && stem.last!.isNumber
        return !reserved.contains(String(stem)) && !isNumbered && upper != ".LOCK" && upper != "DESKTOP.INI"
            && !name.hasPrefix("~$") && !name.contains("_vti_")
    }
}
