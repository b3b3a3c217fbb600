<?php

namespace App\Models;

/**
 * The Laravel application whose errors are in ../backend-errors/laravel.json: Laravel's own kernel, router, validator and exception
 * handler, as in production. Needs the framework as Debian packages it (php-laravel-framework, php-sqlite3) or any autoload.php.
 *
 *   php -S 127.0.0.1:PORT laravel.php         LARAVEL_AUTOLOAD=vendor/autoload.php where it is not Debian's
 */
require getenv('LARAVEL_AUTOLOAD') ?: '/usr/share/php/Illuminate/autoload.php';

use Illuminate\Database\Eloquent\Model;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Exceptions\Handler;
use Illuminate\Foundation\Http\Kernel;
use Illuminate\Http\Request;
use Illuminate\Routing\Middleware\SubstituteBindings;
use Illuminate\Routing\Middleware\ThrottleRequests;
use Illuminate\Support\Facades\Route;
use PDO;
use RuntimeException;

class Customer extends Model
{
}

$folder = sys_get_temp_dir() . '/laravel-errors';
foreach (['bootstrap/cache', 'config', 'storage/framework/cache/data', 'storage/logs', 'public'] as $path) {
    if (!is_dir("$folder/$path")) {
        mkdir("$folder/$path", 0777, true);
    }
}
$pdo = new PDO("sqlite:$folder/database.sqlite");
$pdo->exec('create table if not exists customers (id integer primary key, name text)');

$app = new Application($folder);
$app->singleton(\Illuminate\Contracts\Http\Kernel::class, Kernel::class);
$app->singleton(\Illuminate\Contracts\Debug\ExceptionHandler::class, Handler::class);
// Stands for config/*.php: what a production application has, with SQLite and files.
$settings = [
    'app' => [
        'name' => 'Laravel', 'env' => 'production', 'debug' => false, 'url' => 'http://localhost', 'timezone' => 'UTC', 'locale' => 'en',
        'fallback_locale' => 'en', 'key' => 'base64:' . base64_encode(str_repeat('k', 32)), 'cipher' => 'AES-256-CBC', 'aliases' => [],
        'providers' => \Illuminate\Support\ServiceProvider::defaultProviders()->toArray(),
    ],
    'auth' => [
        'defaults' => ['guard' => 'api'],
        'guards' => ['api' => ['driver' => 'token', 'provider' => 'users']],
        'providers' => ['users' => ['driver' => 'database', 'table' => 'users']],
    ],
    'hashing' => ['driver' => 'bcrypt'],
    'cache' => ['default' => 'file', 'stores' => ['file' => ['driver' => 'file', 'path' => "$folder/storage/framework/cache/data"]]],
    'database' => [
        'default' => 'sqlite',
        'connections' => ['sqlite' => ['driver' => 'sqlite', 'database' => "$folder/database.sqlite", 'prefix' => '']],
    ],
    'filesystems' => ['default' => 'local', 'disks' => []],
    'logging' => ['default' => 'null', 'channels' => ['null' => ['driver' => 'monolog', 'handler' => \Monolog\Handler\NullHandler::class]]],
    'session' => ['driver' => 'array'],
    'view' => ['paths' => [], 'compiled' => "$folder/storage/framework"],
];
foreach ($settings as $name => $values) {
    file_put_contents("$folder/config/$name.php", '<?php return ' . var_export($values, true) . ';');
}

$app->booted(function () {
    Route::middleware(SubstituteBindings::class)->group(function () {
        Route::post('/teams', function (Request $request) {
            return $request->validate([
                'team_name' => ['required', 'string', 'min:1'],
                'authorization.role' => ['required', 'in:owner,member'],
                'users.*.email' => ['required', 'email'],
            ]);
        });
        Route::get('/customers/{customer}', fn (Customer $customer) => $customer);
        Route::get('/limited', fn () => 'ok')->middleware(ThrottleRequests::class . ':1,1');
        Route::get('/conflict', fn () => abort(409, 'The team already has an owner.'));
        Route::get('/fault', fn () => throw new RuntimeException('the password of the database is hunter2'));
    });
});

$kernel = $app->make(\Illuminate\Contracts\Http\Kernel::class);
$response = $kernel->handle($request = Request::capture());
$response->send();
$kernel->terminate($request, $response);
