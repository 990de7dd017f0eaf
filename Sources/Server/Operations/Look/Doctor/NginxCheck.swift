import Posix

/// Examines nginx's configuration by asking nginx itself, which follows all includes.
public enum NginxCheck {
    /// - Returns: the parsed configuration, if it can be read.
    /// - Parameters:
    ///   - folder: the folder of `nginx.conf`, usually `/etc/nginx`.
    ///   - limit: the time limit for nginx, which resolves the names in its configuration.
    public static func examine(folder: String, within limit: Duration) -> (site: NginxSite?, diagnoses: [Diagnosis]) {
        let path = "\(folder)/nginx.conf"
        guard RegularFile.exists(path) else {
            let note = Diagnosis(
                .nginxUnread, "nginx is not on this host, or its configuration is not in \(folder)",
                fix: "if it is on this host: --nginx FOLDER")
            return (nil, [note])
        }
        let dump: ChildProcess.Outcome
        do throws(PosixError) {
            // Without -p: Debian names modules relative to the prefix that nginx was built with.
            dump = try runNginx(["-T", "-e", "stderr", "-c", path], within: limit)
        } catch {
            let note = Diagnosis(
                .nginxUnread, "nginx cannot be asked whether its configuration is valid: \(error)",
                fix: "run as root: nginx -t")
            return judged(NginxSite.read(folder: folder), [note])
        }
        if dump.status == 0 {
            let site = NginxSite(NginxFiles(dump: dump.output))
            return judged(site, [.good("nginx", "nginx accepts its configuration")])
        }
        let site = NginxSite.read(folder: folder)
        let complaint = dump.output.split(separator: "\n").first { $0.contains("[emerg]") }.map(String.init)
        // Both nginx's and OpenSSL's messages contain these words.
        if dump.output.contains("Permission denied"), !Terminal.isRoot {
            let note = Diagnosis(.notPermitted, "nginx's configuration cannot be tested", fix: "run as root: nginx -t")
            // The site may be in a file that this user cannot read.
            return (site.servers.isEmpty ? nil : site, [note])
        }
        return judged(
            site,
            [
                Diagnosis(
                    .nginxInvalid, "nginx rejects its configuration: \(complaint ?? "status \(dump.status)")",
                    fix: "correct it; nginx -t && systemctl reload-or-restart nginx")
            ])
    }

    /// Finds nginx even if only root's path contains it.
    private static func runNginx(
        _ arguments: [String], within limit: Duration
    ) throws(PosixError) -> ChildProcess.Outcome {
        do throws(PosixError) { return try ChildProcess.run(["nginx"] + arguments, within: limit) } catch {
            guard error.isAbsence else { throw error }
            return try ChildProcess.run(["/usr/sbin/nginx"] + arguments, within: limit)
        }
    }

    private static func judged(
        _ site: NginxSite, _ diagnoses: [Diagnosis]
    ) -> (site: NginxSite?, diagnoses: [Diagnosis]) {
        guard site.servers.isEmpty else { return (site, diagnoses) }
        // Setup got this far, and then certbot failed.
        if let name = site.challenged.first {
            let missing = Diagnosis(
                .certificateMissing,
                "there is no certificate for \(name) yet: nginx serves only the challenge",
                fix: "syncctl setup requests it again, and continues; journalctl or "
                    + "/var/log/letsencrypt/letsencrypt.log shows certbot's messages")
            return (site, diagnoses + [missing])
        }
        let missing = Diagnosis(
            .siteMissing, "no server block that nginx reads has this server's locations",
            fix:
                "ln -sf ../sites-available/syncd.conf /etc/nginx/sites-enabled/ && nginx -t && systemctl reload nginx; "
                + "without such a file: syncctl setup")
        return (site, diagnoses + [missing])
    }

    public static func uploadLimit(_ site: NginxSite, maximumUploadBytes: Int64) -> [Diagnosis] {
        guard let limit = site.servers.map(\.uploadLimitBytes).min(by: { $0 != 0 && ($1 == 0 || $0 < $1) }) else {
            return []
        }
        guard limit != 0, limit < maximumUploadBytes else {
            return [.good("uploadLimit", "nginx accepts uploads up to maximumUploadBytes")]
        }
        return [
            Diagnosis(
                .uploadLimitTooSmall,
                "nginx accepts only \(Quantity.bytes(limit)), but maximumUploadBytes is "
                    + Quantity.bytes(maximumUploadBytes),
                fix: "client_max_body_size \(maximumUploadBytes); at the location of UploadFile, then nginx -t && "
                    + "systemctl reload nginx; or a smaller maximumUploadBytes")
        ]
    }

    /// - Parameter least: the minimum number of connections of an nginx process for a server on the open Internet.
    public static func connections(_ site: NginxSite, least: Int) -> [Diagnosis] {
        guard let connections = site.workerConnections else { return [] }
        guard connections < least else {
            return [.good("connections", "each of nginx's processes accepts \(connections) connections")]
        }
        return [
            Diagnosis(
                .connectionsFew,
                "each of nginx's processes accepts only \(connections) connections: one client that opens that many "
                    + "locks out all others",
                fix:
                    "syncctl setup --nginx-connections; or in nginx.conf worker_connections \(least); and "
                    + "worker_rlimit_nofile "
                    + "\(2 * least);, then systemctl reload nginx")
        ]
    }
}
