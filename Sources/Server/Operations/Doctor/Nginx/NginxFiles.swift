import Posix

/// The texts of nginx's configuration, from nginx's output or from its folder.
struct NginxFiles {
    /// The main file; `nil` if there is none.
    let main: String?
    /// The folder of the main file, to which relative paths refer; empty if unknown.
    let folder: String
    private let texts: (_ path: String) -> [String]

    /// The files that an `include` matches, in nginx's order; only the last part of the path can contain wildcards.
    func included(_ pattern: String) -> [String] {
        texts(pattern.hasPrefix("/") || folder.isEmpty ? pattern : "\(folder)/\(pattern)")
    }

    /// Parses the output of `nginx -T`: each file that it has read, after a line with its path, the main file first.
    init(dump: String) {
        let mark = "# configuration file "
        var files: [(path: String, text: String)] = []
        for line in dump.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix(mark), line.hasSuffix(":") {
                files.append((String(line.dropFirst(mark.count).dropLast()), ""))
            } else if !files.isEmpty {
                files[files.count - 1].text += line + "\n"
            }
        }
        main = files.first?.text
        folder = files.first.map { Self.parts(of: $0.path).folder } ?? ""
        texts = { pattern in
            let (folder, last) = Self.parts(of: pattern)
            return files.filter { file in
                let (place, name) = Self.parts(of: file.path)
                return place == folder && Directory.matches(name, pattern: last)
            }.sorted { $0.path < $1.path }.map(\.text)
        }
    }

    /// The files that nginx would read in a folder, usually `/etc/nginx`, without copies beside them. If the host's
    /// root is elsewhere, it follows from the folder's path.
    init(folder: String) {
        let place = "/etc/nginx"
        let root = folder.hasSuffix(place) ? String(folder.dropLast(place.count)) : ""
        self.folder = folder
        main = Self.text(at: "\(folder)/nginx.conf")
        texts = { pattern in
            let path = pattern.hasPrefix(folder) ? pattern : root + pattern
            let (folder, last) = Self.parts(of: path)
            guard last.contains(where: { "*?[".contains($0) }) else { return [Self.text(at: path)].compactMap(\.self) }
            let names = (try? Directory.names(in: folder, matching: last)) ?? []
            return names.compactMap { Self.text(at: "\(folder)/\($0)") }
        }
    }

    private static func text(at path: String) -> String? {
        (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func parts(of path: String) -> (folder: String, last: String) {
        guard let slash = path.lastIndex(of: "/") else { return ("", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
}
